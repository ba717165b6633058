package rpcrdma

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// receiveBudget bounds the memory of receives of the connections of one Serve. A connection that
// has anything under way has reserved memory for all that its peer may send; an idle one has none,
// though its peer may send as many messages. The memory for all of them is reserved together, when
// the first comes, and given back when the connection is idle again. So who waits for it holds
// nothing.
type receiveBudget struct {
	size   int64        // bytes, all of them
	free   atomic.Int64 // of these; below zero where connections had to have more
	queued atomic.Int32 // connections that wait, to be read without mu

	mu      sync.Mutex // guards what follows, and the receiveWaits
	waiting list.List[receiveWait]
}

// receiveWait is a connection's place in the queue of a receiveBudget.
type receiveWait struct {
	asked bool // it may be waiting, or have been given something; the connection's own

	place  list.Place[receiveWait]
	need   int64
	given  int64  // when it need not wait any more
	resume func() // called then
}

func newReceiveBudget(n int64) *receiveBudget {
	b := &receiveBudget{size: n}
	b.free.Store(n)
	return b
}

// tryReserve reserves n bytes if they are free. More than there are can be had when nobody has any.
func (b *receiveBudget) tryReserve(n int64) bool {
	for {
		free := b.free.Load()
		if free < n && free < b.size {
			return false
		}
		if b.free.CompareAndSwap(free, free-n) {
			return true
		}
	}
}

// reserve reserves n bytes for a connection that has none, and returns how many. If they are not
// free it returns 0, and resumes the connection when they are: first come, first served.
func (b *receiveBudget) reserve(w *receiveWait, n int64) int64 {
	if !w.asked && b.queued.Load() == 0 && b.tryReserve(n) {
		return n
	}
	b.mu.Lock()
	if !w.place.In() && w.given == 0 {
		w.need = n
		b.waiting.Push(&w.place, w)
		b.queued.Add(1) // before another look at what is free: who gives back sees it, or is seen
	}
	others := b.serve(w)
	n, w.given = w.given, 0
	w.asked = n == 0
	b.mu.Unlock()
	resume(others)
	return n
}

// more reserves memory for up to n receives of so many bytes, for a connection that has reserved
// some, and returns for how many. What is free stays more than what the connection has then: all
// get less as it becomes short, and there is something for who comes new.
func (b *receiveBudget) more(n int, size, reserved int64) int {
	for b.queued.Load() == 0 {
		free := b.free.Load()
		k := min(int64(n), (free-reserved)/(2*size))
		if k <= 0 {
			break
		}
		if b.free.CompareAndSwap(free, free-k*size) {
			return int(k)
		}
	}
	return 0
}

// short reports whether a connection with so much should give back what it can do without.
func (b *receiveBudget) short(reserved int64) bool {
	return b.queued.Load() > 0 || b.free.Load() < reserved
}

// scarce reports whether all is reserved, or somebody waits. Where there is no budget there is
// always more.
func (b *receiveBudget) scarce() bool {
	return b != nil && (b.queued.Load() > 0 || b.free.Load() <= 0)
}

// force reserves n bytes whatever is free.
func (b *receiveBudget) force(n int64) { b.free.Add(-n) }

// leave ends the waiting of a connection.
func (b *receiveBudget) leave(w *receiveWait) {
	if !w.asked {
		return
	}
	w.asked = false
	b.mu.Lock()
	if w.place.In() {
		b.remove(w)
	}
	n := w.given
	w.given = 0
	b.mu.Unlock()
	b.release(n)
}

// release gives n bytes back.
func (b *receiveBudget) release(n int64) {
	b.free.Add(n)
	if b.queued.Load() == 0 {
		return
	}
	b.mu.Lock()
	given := b.serve(nil)
	b.mu.Unlock()
	resume(given)
}

// serve gives memory to those who wait, and returns them without self; b.mu is held.
func (b *receiveBudget) serve(self *receiveWait) (given []*receiveWait) {
	for w := b.waiting.First(); w != nil && b.tryReserve(w.need); w = b.waiting.First() {
		b.remove(w)
		w.given = w.need
		if w != self {
			given = append(given, w)
		}
	}
	return given
}

func (b *receiveBudget) remove(w *receiveWait) {
	b.waiting.Remove(&w.place)
	b.queued.Add(-1)
}

func resume(given []*receiveWait) {
	for _, w := range given {
		w.resume()
	}
}
