package iwarp

import (
	"testing"
	"testing/synctest"
	"time"
)

// White-box: holder is tested from inside, on a clock of its own. That a place is free again once a
// peer has been let go shows outside only in how long the next is kept. What peers see of it is in
// hold_test.go.

// TestHolder fills all places, and again when they are free. One that finds none is not kept, and
// none is when it is over.
func TestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const d = time.Hour
		h, over := newHolder(d), make(chan struct{})
		kept := make(chan time.Duration, maxHeld+1)
		hold := func() {
			begin := time.Now()
			h.hold(over)
			kept <- time.Since(begin)
		}
		fill := func() {
			t.Helper()
			for range maxHeld {
				go hold()
			}
			synctest.Wait()
			if len(kept) > 0 {
				t.Fatalf("%d of %d are not kept", len(kept), maxHeld)
			}
			hold()
			if got := <-kept; got > 0 {
				t.Errorf("one too many is kept for %v", got)
			}
		}
		drain := func(want time.Duration) {
			t.Helper()
			for range maxHeld {
				if got := <-kept; got != want {
					t.Fatalf("kept for %v, want %v", got, want)
				}
			}
			if n := len(h.held); n > 0 {
				t.Errorf("%d are kept still", n)
			}
		}
		fill()
		drain(d)
		fill()
		time.Sleep(d / 2)
		close(over)
		drain(d / 2)
	})
}
