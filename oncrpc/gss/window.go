package gss

import "sync"

// windowLen is the number of sequence numbers that a context remembers: the seq_window of RFC 2203
// section 5.2.3.1. It is above what can be under way on the connections of one client.
const windowLen = 8192

// window has the sequence numbers that were seen: from the last one backwards (RFC 2203 section
// 5.3.3.1).
type window struct {
	mu   sync.Mutex             // guards what follows
	last uint32                 // the highest that was seen
	any  bool                   // there is one
	seen [windowLen / 64]uint64 // by number modulo windowLen
}

// verdict is what becomes of a call by its sequence number.
type verdict int

const (
	fresh  verdict = iota
	replay         // it was seen before
	tooOld         // it is below the window
)

// see remembers a sequence number below maxSeq.
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
