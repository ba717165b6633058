package oncrpc

import (
	"container/heap"
	"slices"
	"sync"
	"unique"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// workers is a pool of goroutines for handlers that may block. It has max places. A worker has one
// while it runs a handler or is idle, but for the time that the handler waits for its peer; then it
// waits for a place again.
//
// A place that becomes free goes to the peer host of which the fewest handlers run, so that a host
// with many calls holds up its own; of these to the one that was served longest ago. The calls of a
// host wait in the order of their arrival, behind its handlers that have begun. The worker that
// became idle last is used first.
type workers struct {
	max int
	run func(*Call)

	mu      sync.Mutex // guards what follows, and the queues
	n       int        // places in use
	idle    []chan *Call
	hosts   map[hostID]*hostQueue // those with handlers that run or wait
	waiting fewestRunning         // of these, those with something that waits
	spare   *hostQueue            // for the next host
	turns   uint64                // places that went to hosts that waited
	stopped bool
}

// hostID is a host, in one word. The zero value is that of peers without a known one.
type hostID = unique.Handle[peerhost.Host]

// hostQueue is what runs and waits for one host.
type hostQueue struct {
	host      hostID
	running   int
	returning []chan struct{} // handlers that wait for a place, oldest first
	calls     list.List[Call]
	turn      uint64 // when it was served last
	place     int    // in workers.waiting, from 1 on; 0: not there
}

// do runs c on a worker, now or later.
func (w *workers) do(c *Call) {
	w.mu.Lock()
	q := w.of(c.host)
	if n := len(w.idle); n > 0 {
		ch := w.idle[n-1]
		w.idle = w.idle[:n-1]
		q.running++
		w.mu.Unlock()
		ch <- c
		return
	}
	if w.n < w.max {
		w.n++
		q.running++
		w.mu.Unlock()
		go w.work(c)
		return
	}
	q.calls.Push(&c.waiting, c)
	w.order(q)
	w.mu.Unlock()
}

// work runs c, which counts as running, and then others. Nil: there is none yet.
func (w *workers) work(c *Call) {
	running := false
	var host hostID
	defer func() {
		if running { // the handler has called runtime.Goexit: another worker takes the place
			w.mu.Lock()
			w.ended(host)
			w.mu.Unlock()
			go w.work(nil)
		}
	}()
	ch := make(chan *Call, 1)
	for {
		w.mu.Lock()
		if c != nil {
			host = c.host // of a call that may be another one when it has run
			w.mu.Unlock()
			running = true
			w.run(c)
			running = false
			w.mu.Lock()
			w.ended(host)
		}
		switch {
		case len(w.waiting) > 0:
			c = w.next()
			w.mu.Unlock()
			if c == nil {
				return
			}
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

// of returns the queue of a host; w.mu is held.
func (w *workers) of(h hostID) *hostQueue {
	q := w.hosts[h]
	if q != nil {
		return q
	}
	if q = w.spare; q == nil {
		q = new(hostQueue)
	}
	w.spare = nil
	q.host = h
	if w.hosts == nil {
		w.hosts = make(map[hostID]*hostQueue)
	}
	w.hosts[h] = q
	return q
}

// ended notes that a handler of a host does not run any more; w.mu is held.
func (w *workers) ended(h hostID) {
	q := w.hosts[h]
	q.running--
	switch {
	case q.place > 0:
		heap.Fix(&w.waiting, q.place-1)
	case q.running == 0:
		delete(w.hosts, h)
		q.turn = 0
		w.spare = q
	}
}

// next gives a place to the host whose turn it is. It returns the call that is to be run, or nil if
// a handler that has begun goes on; w.mu is held.
func (w *workers) next() (c *Call) {
	q := w.waiting[0]
	if len(q.returning) > 0 {
		close(q.returning[0])
		q.returning = slices.Delete(q.returning, 0, 1)
	} else {
		c = q.calls.First()
		q.calls.Remove(&c.waiting)
	}
	q.running++
	w.turns++
	q.turn = w.turns
	w.order(q)
	return c
}

// order has w.waiting hold q where it belongs, or not at all; w.mu is held.
func (w *workers) order(q *hostQueue) {
	switch waits := len(q.returning) > 0 || q.calls.First() != nil; {
	case waits && q.place == 0:
		heap.Push(&w.waiting, q)
	case waits:
		heap.Fix(&w.waiting, q.place-1)
	case q.place > 0:
		heap.Remove(&w.waiting, q.place-1)
	}
}

// leave lets another call run while the handler of one of a host waits for its peer.
func (w *workers) leave(h hostID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended(h)
	if len(w.waiting) == 0 {
		w.n--
	} else if c := w.next(); c != nil {
		go w.work(c)
	}
}

// enter takes the handler back when there is a place for it.
func (w *workers) enter(h hostID) {
	w.mu.Lock()
	q := w.of(h)
	if w.n < w.max {
		w.n++
		q.running++
		w.mu.Unlock()
		return
	}
	if n := len(w.idle); n > 0 { // which is not needed
		close(w.idle[n-1])
		w.idle = w.idle[:n-1]
		q.running++
		w.mu.Unlock()
		return
	}
	place := make(chan struct{})
	q.returning = append(q.returning, place)
	w.order(q)
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

// fewestRunning is a heap of queues, by the handlers that run.
type fewestRunning []*hostQueue

func (f fewestRunning) Len() int { return len(f) }

func (f fewestRunning) Less(i, j int) bool {
	if f[i].running != f[j].running {
		return f[i].running < f[j].running
	}
	return f[i].turn < f[j].turn
}

func (f fewestRunning) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].place, f[j].place = i+1, j+1
}

// Push is for package heap.
func (f *fewestRunning) Push(x any) {
	q := x.(*hostQueue)
	*f = append(*f, q)
	q.place = len(*f)
}

// Pop is for package heap.
func (f *fewestRunning) Pop() any {
	last := len(*f) - 1
	q := (*f)[last]
	(*f)[last] = nil
	*f = (*f)[:last]
	q.place = 0
	return q
}
