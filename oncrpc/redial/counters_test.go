package redial_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// Two calls survive the end of their connection, while three attempts to dial fail.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		var counters redial.Counters
		c := p.connect(t, redial.Config{Wait: time.Minute, Counters: &counters})
		if got, want := counters.Stats(), (redial.Stats{Connected: 1}); got != want {
			t.Errorf("at first %+v, want %+v", got, want)
		}
		calls := []chan error{
			start(t.Context(), c, exchange(true)), start(t.Context(), c, exchange(true)),
		}
		f := p.last(t)
		p.set(errRefused, false)
		f.end(errReset)
		synctest.Wait()
		time.Sleep(350 * time.Millisecond) // attempts at 0, 100 and 300 ms
		p.set(nil, false)
		time.Sleep(time.Second)
		again := p.last(t)
		for range calls {
			again.next(t).answer <- nil
		}
		synctest.Wait()
		for _, done := range calls {
			returned(t, done, nil)
		}
		want := redial.Stats{Connected: 2, Failures: 3, Lost: 1, Outages: 1, Waited: 2, Repeated: 2}
		if got := counters.Stats(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
