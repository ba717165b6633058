package paired

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var errHere = errors.New("deliberately")

// here records what in-process scenarios did.
var here struct{ open, runs, procs int }

func init() {
	register := func(name string, metric Metric, batch int, run func(n int) error) {
		Register(Scenario{
			Name: name, Metric: metric, Batch: batch, InProcess: true, Procs: 1,
			Listen: func(context.Context, Sockets) (Server, error) {
				here.open++
				return fakeEnd{addr: "here", close: func() error { here.open--; return nil }}, nil
			},
			Dial: func(_ context.Context, _ Sockets, addr string) (Client, error) {
				if addr != "here" {
					return nil, errors.New("another address")
				}
				here.open++
				return fakeEnd{
					run: func(n int, samples []time.Duration) error {
						if len(samples) > 0 {
							return errors.New("samples are wanted of a batch")
						}
						return run(n)
					},
					close: func() error { here.open--; return nil },
				}, nil
			},
		})
	}
	fine := func(n int) error {
		here.runs++
		here.procs = runtime.GOMAXPROCS(0)
		time.Sleep(time.Duration(n) * time.Microsecond)
		return nil
	}
	register("here/rate", Rate, 0, fine)
	register("here/batches", Latency, 16, func(n int) error {
		if n != 16 {
			return errors.New("not a batch")
		}
		return fine(n)
	})
	register("here/fails", Rate, 0, func(int) error { return errHere })
	register("here/fails in a batch", Latency, 16, func(int) error { return errHere })
	register("here/hangs", Rate, 0, func(int) error { <-*hung.Load(); return nil })
}

// hung is the channel that here/hangs waits for. Each run of TestInProcessHangs makes one and
// closes it.
var hung atomic.Pointer[chan struct{}]

// TestInProcess: both ends run in this process, and all usage counts as the client's.
func TestInProcess(t *testing.T) {
	for _, name := range []string{"here/rate", "here/batches"} {
		here.open, here.runs, here.procs = 0, 0, 0 // a hung run leaves its ends open
		procs := runtime.GOMAXPROCS(2)
		r, err := Compare(t.Context(), quick(), name, name)
		if got := runtime.GOMAXPROCS(procs); got != 2 {
			t.Errorf("%s: GOMAXPROCS is %d afterwards, want 2", name, got)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rounds) != 2 || here.runs < 2*2 || here.open != 0 || here.procs != 1 {
			t.Errorf("%s: got %d rounds, %+v", name, len(r.Rounds), here)
		}
		for _, round := range r.Rounds {
			m := round.Candidate
			if m.Server != (Usage{}) || m.Elapsed <= 0 || (m.P50 > 0) != (r.Candidate.Metric == Latency) {
				t.Errorf("%s: got %+v", name, m)
			}
			if r.Candidate.Metric == Latency && (m.P50 < time.Microsecond || m.P50 > m.Elapsed || m.Operations%16 != 0) {
				t.Errorf("%s: got %+v, want the time of one operation of 16", name, m)
			}
		}
	}
}

func TestInProcessFails(t *testing.T) {
	for _, name := range []string{"here/fails", "here/fails in a batch"} {
		here.open = 0
		if _, err := Compare(t.Context(), quick(), name, name); !errors.Is(err, errHere) || here.open != 0 {
			t.Errorf("%s: got error %v, %d ends open", name, err, here.open)
		}
	}
	if _, err := Compare(t.Context(), quick(), "here/rate", "fake/plain"); err == nil {
		t.Error("one process and two have been compared")
	}
}

// TestInProcessHangs: a scenario that hangs is abandoned.
func TestInProcessHangs(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	hung.Store(&over)
	o := quick()
	o.Limit = 50 * time.Millisecond
	_, err := Compare(t.Context(), o, "here/hangs", "here/hangs")
	if err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("got error %v, want one that says so", err)
	}
}
