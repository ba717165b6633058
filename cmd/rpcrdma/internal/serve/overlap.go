package serve

import (
	"log/slog"
)

// warnOverlap warns of exports that share files. Each has its own handles for them.
func warnOverlap(exports []Export, log *slog.Logger) {
	for i, a := range exports {
		for _, b := range exports[:i] {
			if overlap(a.Dir, b.Dir) {
				log.Warn("two exports share files: the rules of each one hold for its own clients", "one", b.Name,
					"other", a.Name)
			}
		}
	}
}

// overlap reports whether two directories are the same, or one lies in the other. "" is a file
// system in memory.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a, errA := resolve(a)
	b, errB := resolve(b)
	return errA == nil && errB == nil && (within(a, b) || within(b, a))
}
