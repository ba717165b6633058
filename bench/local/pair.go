package local

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// Metric is what is compared.
type Metric int

// The metrics.
const (
	Rate    Metric = iota // operations in a time: more is better
	Latency               // median of the time that an operation takes: less is better
)

// Pair is a candidate with its yardstick.
type Pair struct {
	Metric               Metric
	Yardstick, Candidate func(n int) error // does n operations
	Procs                int               // GOMAXPROCS for both; 0 leaves it alone
}

// Case is a pair to make of each rig that is started.
type Case struct {
	Name string
	Pair func(*Rig) Pair

	// Bound is the ratio that is owed: at most this for Latency, else at least this. Zero demands
	// nothing.
	Bound float64
}

// Result is the outcome of the rounds of a case.
type Result struct {
	Metric      Metric
	Ratio       spread.Spread // candidate to yardstick
	Yardstick   float64       // nanoseconds an operation, median of the rounds
	Candidate   float64
	Allocs      float64 // of the candidate, an operation
	Collections uint64  // of garbage while the candidate ran
}

// maxAllocs is what the gate permits for each operation. The steady state has none, as tests of package nfsdemo show, but from one
// round to the next the goroutine may come to another processor, whose pools are empty; and a round has few operations if they are
// long.
const maxAllocs = 0.2

// Missed says which demands of the case r does not meet.
func (c *Case) Missed(r *Result) []string {
	if c.Bound == 0 {
		return nil
	}
	var all []string
	switch got := r.Ratio.Median; {
	case r.Metric == Latency && got > c.Bound:
		all = append(all, fmt.Sprintf("got %.3f times the latency of the yardstick, want at most %v", got, c.Bound))
	case r.Metric == Rate && got < c.Bound:
		all = append(all, fmt.Sprintf("got %.3f times the rate of the yardstick, want at least %v", got, c.Bound))
	}
	if r.Allocs > maxAllocs {
		all = append(all, fmt.Sprintf("got %.4f allocations an operation, want at most %v", r.Allocs, maxAllocs))
	}
	return all
}
