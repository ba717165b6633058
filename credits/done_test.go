package credits

import (
	"testing"
	"testing/synctest"
)

// acquire takes a credit that must be free.
func acquire(t *testing.T, w *Window) Credit {
	t.Helper()
	c, err := w.Acquire(noWait)
	if err != nil {
		_, inflight, dones, _ := w.State()
		t.Fatalf("no credit with %d calls and %d DONEs under way", inflight, dones)
	}
	return c
}

func wantNoCredit(t *testing.T, w *Window) {
	t.Helper()
	if c, err := w.Acquire(noWait); err == nil {
		t.Errorf("got a credit: %d in use", c.InUse)
	}
}

func wantUnderWay(t *testing.T, w *Window, inflight, dones int) {
	t.Helper()
	if _, i, d, _ := w.State(); i != inflight || d != dones {
		t.Errorf("%d calls and %d DONEs under way, want %d and %d", i, d, inflight, dones)
	}
}

// open returns a window with a grant.
func open(t *testing.T, grant uint32) *Window {
	t.Helper()
	w := NewWindow(64)
	w.Release(acquire(t, w), grant)
	return w
}

// TestWindowDone: a call whose reply has a read list keeps its credit. Then its RDMA_DONE keeps it
// until the reply to a later call.
func TestWindowDone(t *testing.T) {
	w := open(t, 3)
	a, b := acquire(t, w), acquire(t, w)
	w.NoteGrant(a, 3)
	wantUnderWay(t, w, 2, 0)
	w.DoneSent()
	wantUnderWay(t, w, 1, 1)
	c := acquire(t, w)
	if c.InUse != 3 {
		t.Errorf("%d credits in use, want 3", c.InUse)
	}
	wantNoCredit(t, w)
	w.Release(b, 3) // b was sent before the DONE
	wantUnderWay(t, w, 1, 1)
	d := acquire(t, w)
	wantNoCredit(t, w)
	w.Release(d, 3) // as d arrived, so did the DONE
	wantUnderWay(t, w, 1, 0)
	w.Release(c, 3)
	acquire(t, w)
	acquire(t, w)
	acquire(t, w)
	wantNoCredit(t, w)
}

// The reply of a call that had its credit before the DONE was sent shows nothing, as it may have
// been sent before, whenever that was.
func TestWindowDoneBehindCredit(t *testing.T) {
	w := open(t, 4)
	a, b := acquire(t, w), acquire(t, w)
	w.NoteGrant(a, 4)
	w.DoneSent()
	w.NoteGrant(b, 4)
	wantUnderWay(t, w, 1, 1)
	w.DoneSent()
	wantUnderWay(t, w, 0, 2)
}

// A reply frees the credits of RDMA_DONEs sent before its call, and not of those sent after it.
func TestWindowDonesInOrder(t *testing.T) {
	w := open(t, 8)
	var calls []Credit
	for range 4 {
		calls = append(calls, acquire(t, w))
	}
	for _, c := range calls {
		w.NoteGrant(c, 8)
	}
	w.DoneSent()
	w.DoneSent()
	between := acquire(t, w)
	w.DoneSent()
	w.DoneSent()
	wantUnderWay(t, w, 1, 4)
	w.NoteGrant(between, 8)
	wantUnderWay(t, w, 1, 2)
	w.DoneSent()
	wantUnderWay(t, w, 0, 3)
	w.Release(acquire(t, w), 8)
	wantUnderWay(t, w, 0, 0)
}

// TestWindowNothingUnderWay: with no call under way, one call may be made, whatever was granted and
// however many DONEs there are (draft section 3.3). With one under way, the grant counts.
func TestWindowNothingUnderWay(t *testing.T) {
	for _, grant := range []uint32{0, 1, 2} {
		w := open(t, 2)
		a, b := acquire(t, w), acquire(t, w)
		w.NoteGrant(a, grant)
		w.DoneSent()
		wantNoCredit(t, w)
		w.NoteGrant(b, grant)
		wantNoCredit(t, w)
		w.DoneSent()
		wantUnderWay(t, w, 0, 2)
		c := acquire(t, w)
		wantNoCredit(t, w)
		w.Release(c, 2)
		wantUnderWay(t, w, 0, 0)
		acquire(t, w)
		acquire(t, w)
		wantNoCredit(t, w)
	}
}

// A waiting call is woken by the DONE of the last call under way.
func TestWindowDoneWakes(t *testing.T) {
	err := bubble(t, func() error {
		w := NewWindow(64)
		defer w.Close(errGone)
		a := acquire(t, w)
		waits, next := call(w, 1), call(w, 2)
		w.NoteGrant(a, 0)
		wantWaiting(t, waits)
		w.DoneSent()
		synctest.Wait()
		wantCredit(t, waits)
		wantWaiting(t, next)
		w.NoteGrant(waits.credit, 2)
		synctest.Wait()
		wantCredit(t, next)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
