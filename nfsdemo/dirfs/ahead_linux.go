package dirfs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// aheadMax is how many entries have their attributes read at once: half of them by another goroutine, because they are
// what a listing takes most of its time for.
const aheadMax = 64

// aheadAlone is for how few entries that is not worth it.
const aheadAlone = 16

// ahead is the attributes of entries that a lister will come to.
type ahead struct {
	n, next int // of those below, how many there are, and the next to be taken
	names   [aheadMax]*byte
	stats   [aheadMax]unix.Statx_t
	errs    [aheadMax]error
	other   sync.WaitGroup
}

func (fs *FS) newAhead() *ahead {
	a, _ := fs.aheads.Get().(*ahead)
	if a == nil {
		a = new(ahead)
	}
	a.n, a.next = 0, 0
	return a
}

// take returns the attributes of the entry that l has found. It is asked for each entry in turn, "." and ".."
// left out.
func (a *ahead) take(l *lister) (*unix.Statx_t, error) {
	if a.next == a.n {
		a.read(l)
	}
	i := a.next
	a.next++
	return &a.stats[i], a.errs[i]
}

// read reads the attributes of the entry that l has found and of those behind it in its buffer.
func (a *ahead) read(l *lister) {
	a.n, a.next = 0, 0
	for at := l.at; at < l.end && a.n < aheadMax; {
		e := entryAt(l.buf[at:l.end])
		if !e.dots() {
			a.names[a.n] = e.cname()
			a.n++
		}
		at += len(e)
	}
	half := a.n
	if a.n > aheadAlone {
		half = (a.n + 1) / 2
		a.other.Go(func() { a.stat(l.fd, half, a.n) })
	}
	a.stat(l.fd, 0, half)
	a.other.Wait()
}

func (a *ahead) stat(fd, from, to int) {
	for i := from; i < to; i++ {
		a.errs[i] = statName(fd, a.names[i], &a.stats[i])
	}
}
