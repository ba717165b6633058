package credits

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var errGone = errors.New("gone")

// caller waits for a credit on its own goroutine.
type caller struct {
	id     int
	cancel context.CancelFunc
	done   bool // what follows is set; read after synctest.Wait
	credit Credit
	err    error
}

// call begins to wait and returns when it has a credit, or stands in the queue.
func call(w *Window, id int) *caller {
	ctx, cancel := context.WithCancel(context.Background())
	c := &caller{id: id, cancel: cancel}
	go func() {
		c.credit, c.err = w.Acquire(ctx)
		c.done = true
	}()
	synctest.Wait()
	return c
}

// release calls Release for some call, and returns once the callers that it woke have continued.
func release(w *Window, grant uint32) {
	w.Release(Credit{}, grant)
	synctest.Wait()
}

func wantState(t *testing.T, w *Window, limit, inflight, waiting int) {
	t.Helper()
	l, i, d, q := w.State()
	if l != limit || i != inflight || d != 0 || q != waiting {
		t.Errorf("State() = %d, %d, %d, %d, want %d, %d, 0, %d", l, i, d, q, limit, inflight, waiting)
	}
}

func wantCredit(t *testing.T, c *caller) {
	t.Helper()
	if !c.done || c.err != nil || c.credit == (Credit{}) {
		t.Errorf("caller %d: returned %v, %+v, error %v, want a credit", c.id, c.done, c.credit, c.err)
	}
}

func wantWaiting(t *testing.T, c *caller) {
	t.Helper()
	if c.done {
		t.Errorf("caller %d returned: error %v", c.id, c.err)
	}
}

func wantError(t *testing.T, c *caller, err error) {
	t.Helper()
	if !c.done || !errors.Is(c.err, err) || c.credit != (Credit{}) {
		t.Errorf("caller %d: returned %v, %+v, error %v, want %v", c.id, c.done, c.credit, c.err, err)
	}
}

func TestWindowStartsAtOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		wantState(t, w, 1, 0, 0)
		a := call(w, 1)
		wantCredit(t, a)
		if a.credit.InUse != 1 {
			t.Errorf("%d credits in use, want 1", a.credit.InUse)
		}
		b := call(w, 2)
		wantWaiting(t, b)
		wantState(t, w, 1, 1, 1)
		release(w, 64)
		wantCredit(t, b)
		wantState(t, w, 64, 1, 0)
		if c := call(w, 3); c.credit.InUse != 2 {
			t.Errorf("%d credits in use, want 2", c.credit.InUse)
		}
	})
}

func TestWindowGrant(t *testing.T) {
	for _, tt := range []struct {
		grant uint32
		want  int
	}{
		{0, 0}, {1, 1}, {2, 2}, {63, 63}, {64, 64},
		{65, 64}, {1 << 31, 64}, {math.MaxUint32, 64}, // more than there is use for
	} {
		w := NewWindow(64)
		c, err := w.Acquire(noWait)
		if err != nil {
			t.Fatal(err)
		}
		w.Release(c, tt.grant)
		if limit, _, _, _ := w.State(); limit != tt.want {
			t.Errorf("grant of %d: State() = %d, want %d", tt.grant, limit, tt.want)
		}
		n := 0
		for err == nil && n < 100 {
			if _, err = w.Acquire(noWait); err == nil {
				n++
			}
		}
		if want := max(tt.want, 1); n != want { // a grant of zero is as good as one
			t.Errorf("grant of %d: %d calls under way, want %d", tt.grant, n, want)
		}
	}
}

// The limit is the most recent grant minus the requests in flight (draft section 3.3).
func TestWindowLowered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		call(w, 0)
		release(w, 4)
		for i := range 4 {
			wantCredit(t, call(w, i))
		}
		waits := call(w, 4)
		release(w, 2)
		wantState(t, w, 2, 3, 1)
		release(w, 2)
		wantWaiting(t, waits)
		wantState(t, w, 2, 2, 1)
		release(w, 2)
		wantCredit(t, waits)
		wantState(t, w, 2, 2, 0)
		release(w, 0)
		release(w, 0)
		wantState(t, w, 0, 0, 0)
	})
}

func TestWindowRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		call(w, 0)
		var callers []*caller
		for i := range 5 {
			callers = append(callers, call(w, i))
		}
		wantState(t, w, 1, 1, 5)
		release(w, 3)
		for i, c := range callers {
			if i < 3 {
				wantCredit(t, c)
			} else {
				wantWaiting(t, c)
			}
		}
		wantState(t, w, 3, 3, 2)
		w.Close(errGone)
	})
}

func TestWindowOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		call(w, 0)
		var callers []*caller
		for i := range 8 {
			callers = append(callers, call(w, i))
		}
		// The first, one in the middle and the last give up.
		for _, i := range []int{0, 4, 7} {
			callers[i].cancel()
			synctest.Wait()
			wantError(t, callers[i], context.Canceled)
		}
		wantState(t, w, 1, 1, 5)
		for _, i := range []int{1, 2, 3, 5, 6} {
			// A call that comes now waits after the others.
			late := call(w, 100+i)
			wantWaiting(t, late)
			late.cancel()
			release(w, 1)
			for _, c := range callers[i+1:] {
				if c.err == nil {
					wantWaiting(t, c)
				}
			}
			wantCredit(t, callers[i])
		}
		wantState(t, w, 1, 1, 0)
	})
}

func TestWindowCancelUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		call(w, 0)
		release(w, 2)
		call(w, 1)
		call(w, 2)
		waits := call(w, 3)
		w.ReleaseUnsent() // a credit that was not used brings no grant
		synctest.Wait()
		wantCredit(t, waits)
		wantState(t, w, 2, 2, 0)
	})
}

// A caller that gives up at the moment when a credit comes either has it or has passed it on.
func TestWindowCancelRacesGrant(t *testing.T) {
	var gaveUp int
	synctest.Test(t, func(t *testing.T) {
		for i := range 2000 {
			w := NewWindow(64)
			call(w, 0)
			first, second := call(w, 1), call(w, 2)
			if i%2 == 0 {
				first.cancel()
				w.Release(Credit{}, 1)
			} else {
				w.Release(Credit{}, 1)
				first.cancel()
			}
			synctest.Wait()
			if first.err == nil {
				wantCredit(t, first)
				wantWaiting(t, second)
				release(w, 1)
			} else {
				gaveUp++
				wantError(t, first, context.Canceled)
			}
			wantCredit(t, second)
			wantState(t, w, 1, 1, 0)
			if t.Failed() {
				return
			}
		}
	})
	t.Logf("gave up %d times of 2000", gaveUp)
}

func TestWindowClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(64)
		call(w, 0)
		a, b := call(w, 1), call(w, 2)
		background := make(chan error, 1)
		go func() {
			_, err := w.Acquire(context.Background()) // whose Done is nil
			background <- err
		}()
		synctest.Wait()
		w.Close(errGone)
		synctest.Wait()
		wantError(t, a, errGone)
		wantError(t, b, errGone)
		if err := <-background; err != errGone {
			t.Errorf("error %v, want %v", err, errGone)
		}
		wantError(t, call(w, 3), errGone)
		w.Close(errors.New("gone again"))
		release(w, 64) // a reply that came before
		wantError(t, call(w, 4), errGone)
	})
}

// TestWindowCloseRacesGrant: a call that was given a credit does not use it after the end.
func TestWindowCloseRacesGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			w := NewWindow(64)
			call(w, 0)
			a, b := call(w, 1), call(w, 2)
			b.cancel()
			w.Release(Credit{}, 2)
			w.Close(errGone)
			synctest.Wait()
			for _, c := range []*caller{a, b} {
				if c.err != nil && c.err != errGone && c.err != context.Canceled {
					t.Errorf("caller %d: error %v", c.id, c.err)
				}
				if !c.done {
					t.Errorf("caller %d waits", c.id)
				}
			}
			wantError(t, call(w, 3), errGone)
		}
	})
}

func TestWindowConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which notices a deadlock
		const most, callers, rounds = 8, 32, 300
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w := NewWindow(most)
		var (
			wg       sync.WaitGroup
			underway atomic.Int32
			cancels  atomic.Int32
		)
		for id := range callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(id)))
				for range rounds {
					ctx, cancel := context.WithCancel(context.Background())
					if r.IntN(3) == 0 {
						go cancel()
					}
					c, err := w.Acquire(ctx)
					cancel()
					if err != nil {
						cancels.Add(1)
						continue
					}
					if n := underway.Add(1); n > most || c.InUse > most+1 || c.InUse < 1 {
						t.Errorf("%d calls under way, %d credits in use, %d are the most", n, c.InUse, most)
					}
					if r.IntN(2) == 0 {
						runtime.Gosched()
					}
					underway.Add(-1)
					switch grant := r.Uint32N(most + 2); r.IntN(8) {
					case 0:
						w.ReleaseUnsent()
					case 1, 2:
						w.NoteGrant(c, grant)
						w.DoneSent()
					default:
						w.Release(c, grant)
					}
				}
			})
		}
		wg.Wait()
		if _, inflight, dones, waiting := w.State(); dones > most || inflight != 0 || waiting != 0 {
			t.Errorf("%d calls under way, %d DONEs and %d callers waiting in the end", inflight, dones, waiting)
		}
		t.Logf("%d of %d gave up", cancels.Load(), callers*rounds)
	})
}

// TestWindowState: State takes no lock. Larger numbers are shown as 65535, without affecting the
// others.
func TestWindowState(t *testing.T) {
	const many = 70_000
	w := NewWindow(many)
	c, _ := w.Acquire(noWait)
	w.NoteGrant(c, many)
	w.DoneSent()
	wantState := func(limit, inflight, dones int) {
		t.Helper()
		if l, i, d, q := w.State(); l != limit || i != inflight || d != dones || q != 0 {
			t.Errorf("State() = %d, %d, %d, %d, want %d, %d, %d, 0",
				l, i, d, q, limit, inflight, dones)
		}
	}
	wantState(1<<16-1, 0, 1)
	for range many - 1 {
		c, _ = w.Acquire(noWait)
	}
	w.mu.Lock()
	wantState(1<<16-1, 1<<16-1, 1)
	w.mu.Unlock()
	w.Release(c, 7)
	wantState(7, 1<<16-1, 0)
}
