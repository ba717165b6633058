package oncrpc

import (
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/indexheap"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// workers is a pool of goroutines for handlers that may block. It has max places. A worker occupies
// one while it runs a handler or is idle. While its handler waits for the peer, the worker gives up
// its place, and waits for one again afterwards.
//
// Each call belongs to a share (Program.Share). A share whose handlers hang leaves places for the
// others: it may have at most shareFactor times as many places as are left free. So the first share
// gets at most three quarters of all places, the second three quarters of the rest, and so on.
//
// A free place goes to the share with the fewest running handlers. Within the share it goes to the
// peer host with the fewest running handlers, so that a host with many calls delays only its own;
// among equals, to the host served longest ago. The calls of a host wait in the order of their
// arrival, behind its handlers that have already started. The worker that became idle last is used
// first.
type workers struct {
	max int
	run func(*Call)

	mu      sync.Mutex // guards the fields below, and the shares in them
	n       int        // places occupied
	used    int        // of these, by running handlers
	idle    []chan *Call
	shares  map[uint64]*share // by id; entries are never removed
	pending []*share          // those in which something waits
	spare   *hostQueue        // to be reused
	turns   uint64            // places given to waiting calls and handlers
	bounded bool              // some program has several shares
	stopped bool
}

// shareFactor limits a share: it may have this many times as many places as are left free.
const shareFactor = 3

// share is the running and waiting calls of one share.
type share struct {
	id      uint64
	running int
	hosts   map[hostID]*hostQueue // those with handlers that run or wait
	waiting indexheap.Heap[*hostQueue]
	turn    uint64 // workers.turns when last served
}

// hostQueue is the running and waiting calls of one host in a share.
type hostQueue struct {
	share     *share
	host      hostID
	running   int
	returning []chan struct{} // started handlers that wait for a place, oldest first
	calls     list.List[Call]
	turn      uint64 // workers.turns when last served
	place     int    // in share.waiting
}

// Before reports whether the host gets a free place before another one that waits.
func (q *hostQueue) Before(o *hostQueue) bool {
	if q.running != o.running {
		return q.running < o.running
	}
	return q.turn < o.turn
}

// Place is for indexheap.
func (q *hostQueue) Place() *int { return &q.place }

// place says whose place a handler occupies: that of a share, for a host.
type place struct {
	share uint64
	host  hostID
}

// mayTake reports whether a handler of a share may start or go on; w.mu is held.
func (w *workers) mayTake(sh *share) bool {
	free := w.max - w.used
	return free > 0 && (!w.bounded || sh.running == 0 || sh.running < shareFactor*free)
}

// do runs c on a worker, now or later.
func (w *workers) do(c *Call) {
	w.mu.Lock()
	q := w.of(c.place)
	if q.share.waiting.Len() > 0 || !w.mayTake(q.share) {
		q.calls.Push(&c.waiting, c)
		w.order(q)
		w.mu.Unlock()
		return
	}
	w.began(q)
	w.start(c)
}

// start makes a worker run c, which already counts as running. The caller holds w.mu; start unlocks
// it.
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

// work runs c, which already counts as running, and then waiting calls. If c is nil, it starts with
// the latter.
func (w *workers) work(c *Call) {
	running := false
	var at place
	defer func() {
		if running { // the handler called runtime.Goexit: replace this worker
			w.mu.Lock()
			w.ended(at)
			w.mu.Unlock()
			go w.work(nil)
		}
	}()
	ch := make(chan *Call, 1)
	for {
		if c != nil {
			at = c.place // now: c may be another call after it has run
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

// of returns the queue of a host in a share, adding it if necessary; w.mu is held.
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

// began notes that a handler starts or goes on; w.mu is held.
func (w *workers) began(q *hostQueue) {
	q.running++
	q.share.running++
	w.used++
}

// ended notes that a handler has stopped running; w.mu is held. Shares are few, so they are kept.
func (w *workers) ended(at place) {
	sh := w.shares[at.share]
	q := sh.hosts[at.host]
	q.running--
	sh.running--
	w.used--
	switch {
	case q.place > 0:
		sh.waiting.Set(q, true)
	case q.running == 0:
		delete(sh.hosts, at.host)
		q.turn = 0
		w.spare = q
	}
}

// pick returns the queue that gets the next place, or nil; w.mu is held.
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
	return best.waiting.First()
}

// next gives a place to a queue. It returns the call to run, or nil if it let a started handler go
// on; w.mu is held.
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

// spread gives free places to waiting calls and handlers. The caller holds w.mu; spread unlocks it.
// One handler's end may let several calls of a share start.
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

// take occupies a free place, or if there is none, that of an idle worker; w.mu is held.
func (w *workers) take() {
	if n := len(w.idle); w.n == w.max && n > 0 { // the idle worker ends
		close(w.idle[n-1])
		w.idle = w.idle[:n-1]
		return
	}
	w.n++
}

// order updates the positions of q in its share's waiting and of the share in pending; w.mu is
// held.
func (w *workers) order(q *hostQueue) {
	sh := q.share
	was := sh.waiting.Len()
	sh.waiting.Set(q, len(q.returning) > 0 || q.calls.First() != nil)
	switch now := sh.waiting.Len(); {
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

// enter lets the handler go on when there is a place for it.
func (w *workers) enter(at place) {
	w.mu.Lock()
	q := w.of(at)
	if q.share.waiting.Len() == 0 && w.mayTake(q.share) {
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

// stop ends idle workers, and others when they have nothing left to do.
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
