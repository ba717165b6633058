package credits

// refills limits calls to the receives of a peer that posts receives only when it handles replies
// of this side (Window.LimitToRefills). The zero value limits nothing.
//
// The peer has handled a reply when it has answered a call that was sent after the reply, because
// it takes messages in order. Until then the reply does not count: the peer's provider may have
// more messages than the peer has handled. So the last receive is kept for a call behind a reply,
// whose answer shows that the peer has receives again.
type refills struct {
	room, later int    // receives since the reply handled last; after any other
	unsent      int    // calls with a credit that have not been sent
	sent        uint64 // calls sent
	handled     uint64 // calls sent before the last reply known to be handled

	// The replies that are not known to be handled, if there are any: how many calls were sent
	// before the oldest, and before the latest.
	open           bool
	oldest, latest uint64
}

// free reports whether one more call finds a receive, with those that have a credit.
func (r *refills) free() bool {
	if r.room == 0 {
		return true
	}
	begun := r.sent + uint64(r.unsent)
	left := r.room - int(begun-r.handled)
	return left > 1 || left == 1 && r.open && begun == r.oldest
}

// replied notes that a reply of this side is sent.
func (r *refills) replied() {
	if !r.open {
		r.open, r.oldest = true, r.sent
	}
	r.latest = r.sent
}

// answered notes the answer to a call by its number among the calls sent, from 1.
func (r *refills) answered(call uint64) {
	switch {
	case !r.open || call <= r.oldest:
		return
	case call > r.latest:
		r.handled, r.open = r.latest, false
	default:
		r.handled, r.oldest = r.oldest, r.latest
	}
	r.room = r.later
}

// LimitToRefills limits calls beyond what credits do, for a peer that posts receives for them only
// when it handles replies of this side, as Linux does. Call it before anything else, and then Sent
// and ReplySent for every call and every reply, in the order in which they are sent.
//
// The peer has first receives for calls in the beginning, and later after each reply. At most that
// many calls are sent before the next reply that the peer is known to have handled. The last of
// them waits until a further reply has been sent. So first must be 2 or more; later must be no less
// than first.
func (w *Window) LimitToRefills(first, later int) { w.refills = refills{room: first, later: later} }

// Sent notes that the call with that credit is sent now.
func (w *Window) Sent(c *Credit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refills.unsent--
	w.refills.sent++
	c.sent = w.refills.sent
}

// ReplySent notes that a reply of this side is sent now, for which the peer will post receives.
func (w *Window) ReplySent() {
	w.mu.Lock()
	defer w.unlock()
	w.refills.replied()
	w.wake()
}
