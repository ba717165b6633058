package iwarp

import (
	"testing"
	"testing/synctest"
	"time"
)

// White-box: holder is tested from inside, in virtual time. From outside, a freed place would show
// only in how long the next peer is kept. hold_test.go tests what peers see.

// TestHolder fills all places, and again when they are free. A peer without a place is not kept,
// and none is kept after the end.
func TestHolder(t *testing.T) {
	const maxHeld = 64
	synctest.Test(t, func(t *testing.T) {
		const d = time.Hour
		h, over := newHolder(d, maxHeld), make(chan struct{})
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
