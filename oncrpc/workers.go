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
// Calls are of shares (Program.Share). One whose handlers hang leaves places for the others: it may
// have shareFactor times as many as are left free, so the first has three quarters of all at most,
// the second three quarters of the rest, and so on.
//
// A place that becomes free goes to the share of which the fewest handlers run, and there to the
// peer host of which the fewest run, so that a host with many calls holds up its own; of these to
// the one that was served longest ago. The calls of a host wait in the order of their arrival,
// behind its handlers that have begun. The worker that became idle last is used first.
type workers struct {
	max int
	run func(*Call)

	mu      sync.Mutex // guards what follows, and the shares
	n       int        // places in use
	used    int        // of these, by handlers that run
	idle    []chan *Call
	shares  map[uint64]*share // those with handlers that run or wait
	pending []*share          // of these, those with something that waits
	spare   *hostQueue        // for the next host
	turns   uint64            // places that went to those who waited
	bounded bool              // there are several shares
	stopped bool
}

// shareFactor is how many times as many places a share may have as are left free.
const shareFactor = 3

// share is what runs and waits for one share.
type share struct {
	id      uint64
	running int
	hosts   map[hostID]*hostQueue // those with handlers that run or wait
	waiting fewestRunning         // of these, those with something that waits
	turn    uint64                // when it was served last
}

// hostID is a host, in one word. The zero value is that of peers without a known one.
type hostID = unique.Handle[peerhost.Host]

// hostQueue is what runs and waits for one host in a share.
type hostQueue struct {
	share     *share
	host      hostID
	running   int
	returning []chan struct{} // handlers that wait for a place, oldest first
	calls     list.List[Call]
	turn      uint64 // when it was served last
	place     int    // in share.waiting, from 1 on; 0: not there
}

// place is what a handler runs in: of a share, for a host.
type place struct {
	share uint64
	host  hostID
}

// mayTake reports whether a handler of a share may begin to run, or go on; w.mu is held.
func (w *workers) mayTake(sh *share) bool {
	free := w.max - w.used
	return free > 0 && (!w.bounded || sh.running == 0 || sh.running < shareFactor*free)
}

// do runs c on a worker, now or later.
func (w *workers) do(c *Call) {
	w.mu.Lock()
	q := w.of(c.place)
	if len(q.share.waiting) > 0 || !w.mayTake(q.share) {
		q.calls.Push(&c.waiting, c)
		w.order(q)
		w.mu.Unlock()
		return
	}
	w.began(q)
	w.start(c)
}

// start has a worker run c, which counts as running; w.mu is held, and let go of.
func (w *workers) start(c *Call) {
	if n := len(w.idle); n > 0 {
		ch := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		ch <- c
		return
	}
	w.n++
	w.mu.Unlock()
	go w.work(c)
}

// work runs c, which counts as running, and then others. Nil: there is none yet.
func (w *workers) work(c *Call) {
	running := false
	var at place
	defer func() {
		if running { // the handler has called runtime.Goexit: another worker takes the place
			w.mu.Lock()
			w.ended(at)
			w.mu.Unlock()
			go w.work(nil)
		}
	}()
	ch := make(chan *Call, 1)
	for {
		if c != nil {
			at = c.place // of a call that may be another one when it has run
			running = true
			w.run(c)
			running = false
		}
		w.mu.Lock()
		if c != nil {
			w.ended(at)
		}
		if q := w.pick(); q != nil {
			c = w.next(q)
			w.spread()
			if c == nil {
				return
			}
			continue
		}
		if w.stopped {
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

// of returns the queue of a host in a share; w.mu is held.
func (w *workers) of(at place) *hostQueue {
	sh := w.shares[at.share]
	if sh == nil {
		if w.shares == nil {
			w.shares = make(map[uint64]*share)
		}
		sh = &share{id: at.share, hosts: make(map[hostID]*hostQueue)}
		w.shares[at.share] = sh
	}
	q := sh.hosts[at.host]
	if q != nil {
		return q
	}
	if q = w.spare; q == nil {
		q = new(hostQueue)
	}
	w.spare = nil
	q.share, q.host = sh, at.host
	sh.hosts[at.host] = q
	return q
}

// began notes that a handler runs; w.mu is held.
func (w *workers) began(q *hostQueue) {
	q.running++
	q.share.running++
	w.used++
}

// ended notes that a handler does not run any more; w.mu is held. The shares that have been there
// once are kept, as they are few.
func (w *workers) ended(at place) {
	sh := w.shares[at.share]
	q := sh.hosts[at.host]
	q.running--
	sh.running--
	w.used--
	switch {
	case q.place > 0:
		heap.Fix(&sh.waiting, q.place-1)
	case q.running == 0:
		delete(sh.hosts, at.host)
		q.turn = 0
		w.spare = q
	}
}

// pick returns the queue whose turn it is, or nil if none may have a place; w.mu is held.
func (w *workers) pick() *hostQueue {
	var best *share
	for _, sh := range w.pending {
		if w.mayTake(sh) && (best == nil || sh.running < best.running ||
			sh.running == best.running && sh.turn < best.turn) {
			best = sh
		}
	}
	if best == nil {
		return nil
	}
	return best.waiting[0]
}

// next gives a place to a queue. It returns the call that is to be run, or nil if a handler that
// has begun goes on; w.mu is held.
func (w *workers) next(q *hostQueue) (c *Call) {
	if len(q.returning) > 0 {
		close(q.returning[0])
		q.returning = slices.Delete(q.returning, 0, 1)
	} else {
		c = q.calls.First()
		q.calls.Remove(&c.waiting)
	}
	w.began(q)
	w.turns++
	q.turn, q.share.turn = w.turns, w.turns
	w.order(q)
	return c
}

// spread gives places that are free to those who wait; w.mu is held, and let go of. A handler that
// has ended may let several of a share begin that was at its bound.
func (w *workers) spread() {
	for q := w.pick(); q != nil; q = w.pick() {
		if c := w.next(q); c != nil {
			w.start(c)
			w.mu.Lock()
		} else {
			w.take()
		}
	}
	w.mu.Unlock()
}

// take takes a place that is free, or that of an idle worker; w.mu is held.
func (w *workers) take() {
	if n := len(w.idle); n > 0 { // which is not needed
		close(w.idle[n-1])
		w.idle = w.idle[:n-1]
		return
	}
	w.n++
}

// order has the share's waiting hold q where it belongs, or not at all, and pending the share; w.mu
// is held.
func (w *workers) order(q *hostQueue) {
	sh := q.share
	was := len(sh.waiting)
	switch waits := len(q.returning) > 0 || q.calls.First() != nil; {
	case waits && q.place == 0:
		heap.Push(&sh.waiting, q)
	case waits:
		heap.Fix(&sh.waiting, q.place-1)
	case q.place > 0:
		heap.Remove(&sh.waiting, q.place-1)
	}
	switch now := len(sh.waiting); {
	case was == 0 && now > 0:
		w.pending = append(w.pending, sh)
	case was > 0 && now == 0:
		i := slices.Index(w.pending, sh)
		w.pending = slices.Delete(w.pending, i, i+1)
	}
}

// leave lets another call run while a handler waits for its peer.
func (w *workers) leave(at place) {
	w.mu.Lock()
	w.ended(at)
	w.n--
	w.spread()
}

// enter takes the handler back when there is a place for it.
func (w *workers) enter(at place) {
	w.mu.Lock()
	q := w.of(at)
	if len(q.share.waiting) == 0 && w.mayTake(q.share) {
		w.began(q)
		w.take()
		w.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	q.returning = append(q.returning, turn)
	w.order(q)
	w.mu.Unlock()
	<-turn
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
