package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// combination is how many calls are under way.
type combination struct{ inFlight, conns int }

func of(p *bench.Point) combination { return combination{p.InFlight, p.Conns} }

func (c combination) String() string {
	return fmt.Sprintf("%s in flight, %s", count(c.inFlight, "call"), count(c.conns, "connection"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// combinations returns those measured on a path, by connections and then calls.
func combinations(r *bench.Result, path bench.Path) []combination {
	var all []combination
	for i := range r.Measured {
		if m := &r.Measured[i]; m.Path == path && !slices.Contains(all, of(&m.Point)) {
			all = append(all, of(&m.Point))
		}
	}
	slices.SortFunc(all, func(a, b combination) int {
		return cmp.Or(cmp.Compare(a.conns, b.conns), cmp.Compare(a.inFlight, b.inFlight))
	})
	return all
}

// fullest returns the combination with the most points on a path; of several, the one with the
// fewest connections and calls.
func fullest(r *bench.Result, path bench.Path) combination {
	points := make(map[combination]int)
	for i := range r.Measured {
		if m := &r.Measured[i]; m.Path == path {
			points[of(&m.Point)]++
		}
	}
	var best combination
	for _, c := range combinations(r, path) {
		if points[c] > points[best] {
			best = c
		}
	}
	return best
}

// paths returns the measured paths, the recommended one first and TCP last.
func paths(r *bench.Result) []bench.Path {
	var all []bench.Path
	for i := range r.Measured {
		if p := r.Measured[i].Path; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	rank := func(p bench.Path) int {
		switch p {
		case r.Advice.Path:
			return 0
		case bench.TCP:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b bench.Path) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}
