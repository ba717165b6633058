package oncrpc

import (
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// workers is a pool of goroutines for handlers that may block. It has max places. A worker has one
// while it runs a handler or is idle, but for the time that the handler waits for its peer; then it
// waits for a place again. Calls wait for a place in the order of their arrival, behind handlers
// that have begun. The worker that became idle last is used first.
type workers struct {
	max int
	run func(*Call)

	mu        sync.Mutex // guards what follows
	n         int        // places in use
	idle      []chan *Call
	returning []chan struct{} // handlers that wait for a place, oldest first
	waiting   list.List[Call]
	stopped   bool
}

// do runs c on a worker, now or later.
func (w *workers) do(c *Call) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		ch := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		ch <- c
		return
	}
	if w.n < w.max {
		w.n++
		w.mu.Unlock()
		go w.work(c)
		return
	}
	w.waiting.Push(&c.waiting, c)
	w.mu.Unlock()
}

func (w *workers) work(c *Call) {
	running := false
	defer func() {
		if running { // the handler has called runtime.Goexit: another worker takes the place
			go w.work(nil)
		}
	}()
	ch := make(chan *Call, 1)
	for {
		if c != nil {
			running = true
			w.run(c)
			running = false
		}
		w.mu.Lock()
		switch {
		case len(w.returning) > 0:
			w.giveUp()
			w.mu.Unlock()
			return
		case w.waiting.First() != nil:
			c = w.pop()
			w.mu.Unlock()
			continue
		case w.stopped:
			w.n--
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, ch)
		w.mu.Unlock()
		if c = <-ch; c == nil {
			return
		}
	}
}

// pop takes out the call that has waited longest; there is one, and w.mu is held.
func (w *workers) pop() *Call {
	c := w.waiting.First()
	w.waiting.Remove(&c.waiting)
	return c
}

// leave lets another call run while the handler of one waits for its peer.
func (w *workers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveUp()
}

// giveUp gives a place to who has waited for it for longest; w.mu is held.
func (w *workers) giveUp() {
	switch {
	case len(w.returning) > 0:
		close(w.returning[0])
		w.returning = slices.Delete(w.returning, 0, 1)
	case w.waiting.First() != nil:
		go w.work(w.pop())
	default:
		w.n--
	}
}

// enter takes the handler back when there is a place for it.
func (w *workers) enter() {
	w.mu.Lock()
	if w.n < w.max {
		w.n++
		w.mu.Unlock()
		return
	}
	if n := len(w.idle); n > 0 { // which is not needed
		close(w.idle[n-1])
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return
	}
	place := make(chan struct{})
	w.returning = append(w.returning, place)
	w.mu.Unlock()
	<-place
}

// stop lets the workers end when they have nothing to do.
func (w *workers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, ch := range w.idle {
		close(ch)
	}
	w.n -= len(w.idle)
	w.idle = nil
}
