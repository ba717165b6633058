package paired

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// quick returns options for tests that do not measure speed.
func quick() Options {
	return Options{Starts: 1, Rounds: 2, Time: time.Millisecond, Limit: 30 * time.Second}
}

func TestCompare(t *testing.T) {
	for _, name := range []string{TCPStream, TCPRequests, TCPPingPong, TCPMessages, TCPMessagesBatched} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.Starts, o.Rounds = 2, 3
			r, err := Compare(t.Context(), o, name, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("compared with itself: %.2f", r.Ratio())
			if got, want := len(r.Rounds), 2*3; got != want {
				t.Errorf("got %d rounds, want %d", got, want)
			}
			for i, round := range r.Rounds {
				for _, m := range []Measurement{round.Yardstick, round.Candidate} {
					if m.Operations < 1 || m.Elapsed <= 0 {
						t.Errorf("round %d: got %d operations in %v", i, m.Operations, m.Elapsed)
					}
					if got, want := m.P50 > 0, r.Candidate.Metric == Latency; got != want {
						t.Errorf("round %d: got a median latency of %v, want one: %v", i, m.P50, want)
					}
				}
				first := r.Rounds[i/3*3] // of the same start
				if got, want := round.Candidate.Operations, first.Candidate.Operations; got != want {
					t.Errorf("round %d: got %d operations, want %d as in the first", i, got, want)
				}
			}
		})
	}
}

func TestCompareErrors(t *testing.T) {
	for _, tt := range []struct {
		candidate string
		want      []string
	}{
		{"fake/listen fails", []string{"server process: open: no listening today"}},
		{"fake/dial fails", []string{"client process: open: no dialing today"}},
		{"fake/run fails", []string{"client process: run: no running today"}},
		{"fake/server close fails", []string{"server process: close: no end of serving"}},
		{"fake/client close fails", []string{"client process: close: no end of calling"}},
		{"fake/exits", []string{"client process: lost during run", "exit status 3", "last words"}},
		{"fake/panics", []string{"server process: lost during open", "panic: deliberately"}},
		{"fake/address", []string{`dialed "somewhere cubic" with "cubic"`}},
		{"fake/bytes", []string{"rate and throughput do not compare"}},
		{"fake/nothing", []string{`no scenario is named "fake/nothing"`}},
	} {
		t.Run(tt.candidate, func(t *testing.T) {
			o := quick()
			o.Sockets.Congestion = "cubic"
			r, err := Compare(t.Context(), o, "fake/plain", tt.candidate)
			if err == nil || r != nil {
				t.Fatalf("got report %v and error %v, want an error alone", r, err)
			}
			for _, want := range append(tt.want, "paired: "+tt.candidate+" against fake/plain: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want it to contain %q", err, want)
				}
			}
		})
	}
}

func TestCompareHangs(t *testing.T) {
	o := quick()
	o.Limit = 500 * time.Millisecond
	_, err := Compare(t.Context(), o, "fake/plain", "fake/hangs")
	for _, want := range []string{"client process: lost during run", "no answer within 500ms", "paired.hang("} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want it to contain %q", err, want)
		}
	}
}

func TestCompareCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := Compare(ctx, quick(), "fake/plain", "fake/hangs")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestCompareOptions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no starts", func(o *Options) { o.Starts = 0 }, "0 starts"},
		{"no rounds", func(o *Options) { o.Rounds = 0 }, "0 rounds"},
		{"no time", func(o *Options) { o.Time = 0 }, "rounds of 0s"},
		{"no limit", func(o *Options) { o.Limit = 0 }, "a limit of 0s"},
		{"one CPU", func(o *Options) { o.CPUs = []int{0} }, "1 CPUs for two processes"},
		{ // from the process that tries first
			"no such directory", func(o *Options) { o.Profile = "/does/not/exist" },
			" process: profile: open /does/not/exist",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := quick()
			tt.change(&o)
			_, err := Compare(t.Context(), o, "fake/plain", "fake/plain")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want it to contain %q", err, tt.want)
			}
		})
	}
}
