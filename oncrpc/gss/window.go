package gss

import "sync"

// windowLen is how many sequence numbers a context remembers: seq_window of RFC 2203 section
// 5.2.3.1. It exceeds the number of calls that one client can have pending.
const windowLen = 8192

// window records which sequence numbers were seen, from the highest one backwards (RFC 2203 section
// 5.3.3.1).
type window struct {
	mu   sync.Mutex             // guards the fields below
	last uint32                 // the highest number seen
	any  bool                   // whether any number was seen
	seen [windowLen / 64]uint64 // by number modulo windowLen
}

// verdict is what a sequence number means for its call.
type verdict int

const (
	fresh  verdict = iota
	replay         // seen before
	tooOld         // below the window
)

// see records a sequence number below maxSeq.
func (w *window) see(n uint32) verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.any:
		w.any, w.last = true, n
	case n > w.last:
		w.advance(n)
	case w.last-n >= windowLen:
		return tooOld
	case w.seen[n%windowLen/64]>>(n%64)&1 != 0:
		return replay
	}
	w.seen[n%windowLen/64] |= 1 << (n % 64)
	return fresh
}

// advance moves the window forward to n, which is above last.
func (w *window) advance(n uint32) {
	if n-w.last >= windowLen {
		clear(w.seen[:])
	} else {
		for i := w.last + 1; i != n; i++ {
			w.seen[i%windowLen/64] &^= 1 << (i % 64)
		}
		w.seen[n%windowLen/64] &^= 1 << (n % 64)
	}
	w.last = n
}
