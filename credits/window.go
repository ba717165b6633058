package credits

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// Window bounds the calls that a client has under way, and counts the RDMA_DONEs that it sends. Its
// methods may be called concurrently, but Release and NoteGrant in the order in which the replies
// arrived.
type Window struct {
	max   int
	state atomic.Uint64 // what State returns, since mu was last unlocked: packed

	mu       sync.Mutex // guards what follows
	limit    int        // the most recent grant, max at most
	inflight int        // calls
	begun    uint64     // calls that ever got a credit

	// dones has begun, as it was when it was sent, of each DONE that the server may not have taken
	// yet. It never decreases. There are at most max: all of their calls were under way when
	// the latest call of those answered began.
	dones []uint64

	err     error
	queue   list.List[waiter] // that wait for a credit
	waiting int               // how many
	spare   []*waiter         // those that are not in use
}

// Credit is the right to have one call under way.
type Credit struct {
	// InUse is the credits in use when it was got, this one included.
	InUse  int
	Waited bool // it was not to be had at once
	// number orders calls by when they got their credit. A call is sent after that, so one with a
	// number above begun of a DONE was sent behind the DONE; of others nothing is known.
	number uint64
}

type waiter struct {
	credit Credit
	ready  chan struct{} // of capacity 1
	queued list.Place[waiter]
}

// NewWindow returns a window of one credit (draft section 6.1) that grants open up
// to max, which is positive.
func NewWindow(max int) *Window {
	w := &Window{max: max, limit: 1}
	w.state.Store(packed(1, 0, 0, 0))
	return w
}

// Acquire takes a credit, waiting for one until ctx ends; those that wait get one in the order of
// their arrival. One of Release, DoneSent and ReleaseUnsent gives it back. The error is the
// context's, or the one that Close was told.
func (w *Window) Acquire(ctx context.Context) (Credit, error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return Credit{}, w.err
	}
	if w.free() { // then nobody waits
		defer w.unlock()
		return w.take(), nil
	}
	q := w.enqueue()
	w.unlock()

	var err error
	if done := ctx.Done(); done == nil {
		<-q.ready
	} else {
		select {
		case <-q.ready:
		case <-done:
			err = ctx.Err()
		}
	}

	w.mu.Lock()
	defer w.unlock()
	switch {
	case q.queued.In(): // gives its place up
		w.unlink(q)
	case w.err != nil:
		err = w.err
	case err != nil: // the credit came at the same moment: pass it on
		<-q.ready
		w.inflight--
		w.wake()
	}
	c := q.credit
	c.Waited = true
	w.spare = append(w.spare, q)
	if err != nil {
		return Credit{}, err
	}
	return c, nil
}

// free reports whether a call may begin. With none under way one always may: the server must have a
// credit for a client that has no requests outstanding (draft section 3.3), and to wait
// would be to wait for ever, as nothing answers a DONE. So a grant of zero, too, is as good as one.
func (w *Window) free() bool { return w.inflight == 0 || w.inflight+len(w.dones) < w.limit }

func (w *Window) take() Credit {
	w.inflight++
	w.begun++
	return Credit{InUse: w.inflight + len(w.dones), number: w.begun}
}

// Release ends a call with its reply, which brought a new grant, and gives its credit back.
func (w *Window) Release(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.unlock()
	w.grant(c, grant)
	w.inflight--
	w.wake()
}

// NoteGrant notes the grant in a reply that an RDMA_DONE is to follow: the credit stays in use
// until DoneSent.
func (w *Window) NoteGrant(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.unlock()
	w.grant(c, grant)
	w.wake()
}

// grant takes over the grant in the reply to a call. The server takes messages in the order in
// which they were sent, so it has taken the DONEs that went before that call.
func (w *Window) grant(c Credit, n uint32) {
	w.limit = int(min(n, uint32(w.max)))
	taken := 0
	for taken < len(w.dones) && w.dones[taken] < c.number {
		taken++
	}
	if taken > 0 { // moved within the slice, which so keeps its memory
		w.dones = w.dones[:copy(w.dones, w.dones[taken:])]
	}
}

// DoneSent ends a call whose RDMA_DONE has been sent: posted, so that no Send posted from now on
// can overtake it. The DONE takes the credit over (draft section 3.8), until the reply to a later
// call shows that the server has taken it.
func (w *Window) DoneSent() {
	w.mu.Lock()
	defer w.unlock()
	w.inflight--
	w.dones = append(w.dones, w.begun)
	w.wake()
}

// ReleaseUnsent gives a credit back whose call was not sent.
func (w *Window) ReleaseUnsent() {
	w.mu.Lock()
	defer w.unlock()
	w.inflight--
	w.wake()
}

// Close fails all that wait, now and later, with err.
func (w *Window) Close(err error) {
	w.mu.Lock()
	defer w.unlock()
	if w.err != nil {
		return
	}
	w.err = err
	for w.waiting > 0 {
		w.signal()
	}
}

// State returns the most recent grant, max at most, the credits in use by calls and by DONEs, and
// the calls that wait for one. It takes no lock: who spreads calls over connections asks each of
// them at every call. A number above 65535 is returned as 65535.
func (w *Window) State() (limit, inflight, dones, waiting int) {
	s := w.state.Load()
	return int(s >> 48), int(s >> 32 & shownMax), int(s >> 16 & shownMax), int(s & shownMax)
}

// shownMax is the largest number that State returns: each has a quarter of a word.
const shownMax = 1<<16 - 1

func packed(limit, inflight, dones, waiting int) uint64 {
	return uint64(min(limit, shownMax))<<48 | uint64(min(inflight, shownMax))<<32 |
		uint64(min(dones, shownMax))<<16 | uint64(min(waiting, shownMax))
}

// unlock unlocks mu after a change, which State then shows.
func (w *Window) unlock() {
	w.state.Store(packed(w.limit, w.inflight, len(w.dones), w.waiting))
	w.mu.Unlock()
}

// wake gives those that wait what has become free.
func (w *Window) wake() {
	for w.waiting > 0 && w.free() {
		w.queue.First().credit = w.take()
		w.signal()
	}
}

// signal wakes the first in the queue.
func (w *Window) signal() {
	q := w.queue.First()
	w.unlink(q)
	q.ready <- struct{}{}
}

func (w *Window) enqueue() *waiter {
	var q *waiter
	if n := len(w.spare); n > 0 {
		q, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		q = &waiter{ready: make(chan struct{}, 1)}
	}
	w.queue.Push(&q.queued, q)
	w.waiting++
	return q
}

func (w *Window) unlink(q *waiter) {
	w.queue.Remove(&q.queued)
	w.waiting--
}
