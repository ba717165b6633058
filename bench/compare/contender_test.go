package main

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// do makes a contender do n operations of w. Its client checks the data that it reads, and at the
// end what it has written.
func do(t *testing.T, c contender, w workload, n int) {
	t.Helper()
	sockets := paired.Sockets{Congestion: host.DefaultCongestion}
	s := c.scenario(w)
	srv, err := s.Listen(t.Context(), sockets)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}()
	cl, err := s.Dial(t.Context(), sockets, srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	}()
	var samples []time.Duration
	if s.Metric == paired.Latency {
		samples = make([]time.Duration, n)
	}
	if err := cl.Run(n, samples); err != nil {
		t.Error(err)
	}
	for i, d := range samples {
		if d <= 0 {
			t.Errorf("operation %d took %v", i, d)
		}
	}
}

// small is the directory in tests: go-nfs takes seconds for 10,000 entries.
var small = workload{op: opList, size: 300, inFlight: 1}

// TestContenders runs all workloads over real sockets with the contenders that need nothing
// installed.
func TestContenders(t *testing.T) {
	for _, c := range contenders {
		if c.missing != nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for _, w := range append([]workload{small}, workloads...) {
				if w.op == opList && w.size > small.size {
					continue
				}
				if raceEnabled && c.name == "go-nfs+vmware" && w == writes {
					continue // go-nfs's file system has a race with several connections
				}
				t.Run(w.String(), func(t *testing.T) {
					n := 2 * w.inFlight
					if w.op == opWrite {
						n = int(fileSize)/w.size + 3 // once around
					}
					do(t, c, w, n)
				})
			}
		})
	}
}
