package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// reason says why some points were not measured, and which.
type reason struct {
	Points int
	Why    string
	Which  string // their paths, ways and sizes
}

// leftOut sums up the points left out by reason, the reason with most points first.
func leftOut(r *bench.Result) (total int, reasons []reason) {
	points := make(map[string][]bench.Point)
	for _, l := range r.LeftOut {
		points[l.Why] = append(points[l.Why], l.Points...)
	}
	for why, p := range points {
		if len(p) == 0 {
			continue
		}
		total += len(p)
		reasons = append(reasons, reason{len(p), why, which(p)})
	}
	slices.SortFunc(reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points), cmp.Compare(a.Why, b.Why))
	})
	return total, reasons
}

func which(points []bench.Point) string {
	var paths, ways []string
	least, most := points[0].Size, points[0].Size
	for _, p := range points {
		paths, ways = append(paths, string(p.Path)), append(ways, string(p.Way))
		least, most = min(least, p.Size), max(most, p.Size)
	}
	return fmt.Sprintf("%s; %s; %s", few(paths, "paths"), few(ways, "ways"), span(least, most))
}

// few lists up to two names, or counts them.
func few(names []string, what string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 2 {
		return fmt.Sprintf("%d %s", len(names), what)
	}
	return strings.Join(names, ", ")
}

// span writes a range of sizes.
func span(from, to int) string {
	if from == to {
		return bench.FormatSize(from)
	}
	return bench.FormatSize(from) + " to " + bench.FormatSize(to)
}
