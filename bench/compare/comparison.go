package main

import (
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// comparison is of a workload of ours with that of another.
type comparison struct {
	workload workload
	ours     string // a contender
	other    string // a contender, or tcp, raw
	bounds
	large bool // it is made with -large only
	extra bool // it is made if -only names it
	slow  bool // it is made with one start and one pair of rounds
}

// rawTCP is requests and responses over TCP without RPC, of package paired.
const rawTCP = "tcp"

func (c comparison) String() string { return fmt.Sprintf("%s %s %s", c.workload, c.ours, c.other) }

// scenarios are the names of theirs and of ours.
func (c comparison) scenarios() (theirs, ours string) {
	theirs = c.other + "/" + c.workload.String()
	return theirs, c.ours + "/" + c.workload.String()
}

// bounds say how many times as fast ours is to be; 0 where nothing is asked.
type bounds struct{ owed, goal float64 }

// ofGanesha is asked of ours beside ganesha. A call at a time takes what it takes the network to
// wake either end, whoever makes it, so that nothing is asked of short ones. A listing may take 1.5
// times as long.
var ofGanesha = map[workload]bounds{
	read: {1.4, 2}, reads: {1.4, 2}, write: {1.2, 1.6}, writes: {1.2, 1.6},
	randoms: {2, 3}, nulls: {2, 4}, getAttrs: {2, 4},
	list: {1 / 1.5, 1}, listLarge: {1 / 1.5, 1},
}

// ofGoNFS is asked of ours beside go-nfs, wherever something is asked beside ganesha.
var ofGoNFS = bounds{2.5, 3.5}

// comparisons are all that there are, those of a workload together.
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
		if w != listLarge { // which takes go-nfs minutes
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

// ratio is how many times as fast ours is in r.
func ratio(r *paired.Report) spread.Spread {
	s := r.Ratio()
	if r.Candidate.Metric == paired.Latency { // of which less is better
		s = spread.Spread{Q1: 1 / s.Q3, Median: 1 / s.Median, Q3: 1 / s.Q1}
	}
	return s
}

// verdict says how a ratio does.
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
