package paired

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestCallers: exactly the requested number of operations is done, by any callers that are free.
// Samples are taken of a single caller.
func TestCallers(t *testing.T) {
	for _, callers := range []int{1, 3, 100} {
		var done [100]atomic.Int64
		broken, fail := errors.New("broken"), false
		c := NewCallers(callers, func(caller int) error {
			done[caller].Add(1)
			if fail {
				return broken
			}
			return nil
		})
		for _, n := range []int{1, 50, 1000} {
			if err := c.Run(n, nil); err != nil {
				t.Fatal(err)
			}
			got := 0
			for i := range done {
				got += int(done[i].Swap(0))
			}
			if got != n {
				t.Errorf("%d callers: %d operations done of %d", callers, got, n)
			}
		}
		samples := make([]time.Duration, 7)
		if err := c.Run(7, samples); err != nil || done[0].Load() != 7 {
			t.Errorf("%d callers: the first has done %d operations of 7, error %v", callers, done[0].Load(), err)
		}
		fail = true
		if err := c.Run(1000, nil); !errors.Is(err, broken) {
			t.Errorf("%d callers: got error %v, want %v", callers, err, broken)
		}
		if err := c.Run(1, samples[:1]); !errors.Is(err, broken) {
			t.Errorf("%d callers: got error %v of one, want %v", callers, err, broken)
		}
		c.End()
	}
}
