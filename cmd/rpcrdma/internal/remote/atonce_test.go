package remote

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, maxAtOnce, 1000} {
		var under, most atomic.Int64
		failed := errors.New("odd")
		all := make(chan struct{}) // closed when as many as can be are under way
		errs := AtOnce(n, func(i int) error {
			if now := under.Add(1); now == int64(min(n, maxAtOnce)) && most.Swap(now) == 0 {
				close(all)
			} else if now > maxAtOnce {
				t.Errorf("%d at once", now)
			}
			<-all
			under.Add(-1)
			if i%2 == 1 {
				return failed
			}
			return nil
		})
		if len(errs) != n {
			t.Errorf("%d errors, want %d", len(errs), n)
		}
		for i, err := range errs {
			if (err != nil) != (i%2 == 1) {
				t.Errorf("%d of %d: %v", i, n, err)
			}
		}
	}
}
