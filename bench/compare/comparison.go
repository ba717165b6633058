package main

import (
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// comparison compares our implementation with another contender on one workload.
type comparison struct {
	workload workload
	ours     string // a contender
	other    string // a contender, or raw TCP
	bounds
	large bool // run only with -large
	extra bool // run only if -only names it
	slow  bool // run with one start and one pair of rounds
}

// rawTCP is package paired's requests and responses over TCP without RPC.
const rawTCP = "tcp"

func (c comparison) String() string { return fmt.Sprintf("%s %s %s", c.workload, c.ours, c.other) }

// scenarios returns the names of both scenarios.
func (c comparison) scenarios() (theirs, ours string) {
	theirs = c.other + "/" + c.workload.String()
	return theirs, c.ours + "/" + c.workload.String()
}

// bounds are the required ratios of our speed to theirs; 0 means none.
type bounds struct{ owed, goal float64 }

// ofGanesha is required of our speed relative to Ganesha. There is no bound on short calls made one
// at a time: their time is mostly spent waking either end. A listing may take 1.5 times as long.
var ofGanesha = map[workload]bounds{
	read: {1.4, 2}, reads: {1.4, 2}, write: {1.2, 1.6}, writes: {1.2, 1.6},
	randoms: {2, 3}, nulls: {2, 4}, getAttrs: {2, 4},
	list: {1 / 1.5, 1}, listLarge: {1 / 1.5, 1},
}

// ofGoNFS is required of our speed relative to go-nfs, for each workload with a bound for Ganesha.
var ofGoNFS = bounds{2.5, 3.5}

// comparisons returns all comparisons, grouped by workload.
func comparisons() []comparison {
	var all []comparison
	for _, w := range workloads {
		add := func(c comparison) {
			c.workload, c.large = w, w == listLarge
			if c.ours == "" {
				c.ours = "ours"
			}
			all = append(all, c)
		}
		ganesha, asked := ofGanesha[w]
		var goNFS bounds
		if asked {
			goNFS = ofGoNFS
		}
		add(comparison{other: "ganesha+libnfs", bounds: ganesha})
		add(comparison{other: "ganesha+ours", bounds: ganesha, extra: w.op != opList})
		if w != listLarge { // it takes go-nfs minutes
			for _, other := range []string{"go-nfs+vmware", "go-nfs+willscott"} {
				add(comparison{other: other, bounds: goNFS, slow: w.op == opList})
			}
		}
		add(comparison{other: "ours-tcp"})
		add(comparison{other: "ours-tcp+libnfs", extra: true})
		add(comparison{ours: "ours-crc", other: "ours", extra: true})
		add(comparison{ours: "ours-crc", other: "ganesha+libnfs", extra: true})
		if w.bulk() {
			add(comparison{other: rawTCP})
		}
	}
	return all
}

// ratio returns our speed divided by theirs in r.
func ratio(r *paired.Report) spread.Spread {
	s := r.Ratio()
	if r.Candidate.Metric == paired.Latency { // less is better
		s = spread.Spread{Q1: 1 / s.Q3, Median: 1 / s.Median, Q3: 1 / s.Q1}
	}
	return s
}

// verdict says which bounds a ratio meets.
func (c comparison) verdict(ratio float64) string {
	switch {
	case c.owed == 0 || math.IsNaN(ratio):
		return ""
	case ratio >= c.goal:
		return "goal"
	case ratio >= c.owed:
		return "owed"
	}
	return "missed"
}
