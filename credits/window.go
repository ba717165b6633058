package credits

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
)

// Window limits the calls that a client has under way, and counts its RDMA_DONEs. Its methods may
// be called concurrently. Release and NoteGrant must be called in the order in which the replies
// arrived.
type Window struct {
	max   int
	state atomic.Uint64 // packed; what State returns, as of the last unlock of mu

	mu       sync.Mutex // guards what follows
	limit    int        // the most recent grant, at most max
	inflight int        // calls under way
	begun    uint64     // calls that ever got a credit
	refills  refills    // receives of a peer that lacks some (LimitToRefills)

	// dones has one entry for each RDMA_DONE that the server may not have taken yet: the value of
	// begun when it was sent. Entries never decrease. There are at most max, because all their
	// calls were under way when the latest of the answered calls began.
	dones []uint64

	err     error
	queue   list.List[waiter] // callers that wait for a credit
	waiting int               // their number
	spare   []*waiter         // waiters for reuse
}

// Credit is the right to have one call under way.
type Credit struct {
	// InUse is the number of credits in use when this one was acquired, including this one.
	InUse  int
	Waited bool // whether Acquire had to wait
	// number orders calls by when they got their credit, which is before they are sent. If it is
	// above the begun of an RDMA_DONE, the call was sent after that RDMA_DONE; otherwise nothing is
	// known.
	number uint64
	sent   uint64 // number of the call in the order of Sent, with LimitToRefills
}

type waiter struct {
	credit Credit
	ready  chan struct{} // of capacity 1
	queued list.Place[waiter]
}

// NewWindow returns a window with one credit (draft section 6.1). Grants open it up to max, which
// must be positive.
func NewWindow(max int) *Window {
	w := &Window{max: max, limit: 1}
	w.state.Store(packed(1, 0, 0, 0))
	return w
}

// Acquire takes a credit. It waits until one is free or ctx ends; callers get credits in order of
// arrival. Give the credit back with one of Release, ReleaseOverridden, DoneSent and ReleaseUnsent.
// The error is that of ctx, or the one passed to Close.
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
	case q.queued.In(): // give up the place in the queue
		w.unlink(q)
	case w.err != nil:
		err = w.err
	case err != nil: // the credit came at the same moment: pass it on
		<-q.ready
		w.untake()
	}
	c := q.credit
	c.Waited = true
	w.spare = append(w.spare, q)
	if err != nil {
		return Credit{}, err
	}
	return c, nil
}

// free reports whether a call may begin. If none is under way, one always may: the server must have
// a credit for a client without outstanding requests (draft section 3.3), and nothing answers an
// RDMA_DONE, so waiting would never end. A grant of zero therefore counts as one.
func (w *Window) free() bool {
	return (w.inflight == 0 || w.inflight+len(w.dones) < w.limit) && w.refills.free()
}

func (w *Window) take() Credit {
	w.inflight++
	w.begun++
	w.refills.unsent++
	return Credit{InUse: w.inflight + len(w.dones), number: w.begun}
}

// Release ends a call whose reply brought a new grant, and gives its credit back.
func (w *Window) Release(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.unlock()
	w.grant(c, grant)
	w.inflight--
	w.wake()
}

// ReleaseOverridden ends a call whose reply brought a grant that a later reply has replaced, and
// gives its credit back.
func (w *Window) ReleaseOverridden(c Credit) {
	w.mu.Lock()
	defer w.unlock()
	w.refills.answered(c.sent)
	w.inflight--
	w.wake()
}

// NoteGrant takes over the grant in a reply that an RDMA_DONE will answer. The credit stays in use
// until DoneSent.
func (w *Window) NoteGrant(c Credit, grant uint32) {
	w.mu.Lock()
	defer w.unlock()
	w.grant(c, grant)
	w.wake()
}

// grant takes over the grant in the reply to a call. The server takes messages in the order in
// which they were sent, so it has taken the RDMA_DONEs that were sent before that call.
func (w *Window) grant(c Credit, n uint32) {
	w.limit = int(min(n, uint32(w.max)))
	w.refills.answered(c.sent)
	taken := 0
	for taken < len(w.dones) && w.dones[taken] < c.number {
		taken++
	}
	if taken > 0 { // move entries within the slice, to keep its memory
		w.dones = w.dones[:copy(w.dones, w.dones[taken:])]
	}
}

// DoneSent ends a call whose RDMA_DONE has been posted, so that no later Send can overtake it. The
// RDMA_DONE takes over the credit (draft section 3.8), until the reply to a later call shows that
// the server has taken it.
func (w *Window) DoneSent() {
	w.mu.Lock()
	defer w.unlock()
	w.inflight--
	w.dones = append(w.dones, w.begun)
	w.wake()
}

// ReleaseUnsent gives back the credit of a call that was not sent.
func (w *Window) ReleaseUnsent() {
	w.mu.Lock()
	defer w.unlock()
	w.untake()
}

// untake undoes take.
func (w *Window) untake() {
	w.inflight--
	w.refills.unsent--
	w.wake()
}

// Close makes all present and future calls of Acquire fail with err.
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

// State returns the most recent grant (at most max), the credits in use by calls and by RDMA_DONEs,
// and the number of callers that wait for one. Numbers above 65535 are returned as 65535. It takes
// no lock, because a client with several connections asks all of them before each call.
func (w *Window) State() (limit, inflight, dones, waiting int) {
	s := w.state.Load()
	return int(s >> 48), int(s >> 32 & shownMax), int(s >> 16 & shownMax), int(s & shownMax)
}

// shownMax is the largest number that State returns: each has 16 bits.
const shownMax = 1<<16 - 1

func packed(limit, inflight, dones, waiting int) uint64 {
	return uint64(min(limit, shownMax))<<48 | uint64(min(inflight, shownMax))<<32 |
		uint64(min(dones, shownMax))<<16 | uint64(min(waiting, shownMax))
}

// unlock publishes changes for State, and unlocks mu.
func (w *Window) unlock() {
	w.state.Store(packed(w.limit, w.inflight, len(w.dones), w.waiting))
	w.mu.Unlock()
}

// wake gives free credits to waiting callers.
func (w *Window) wake() {
	for w.waiting > 0 && w.free() {
		w.queue.First().credit = w.take()
		w.signal()
	}
}

// signal wakes the first caller in the queue.
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
