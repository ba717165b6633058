package report

import (
	"fmt"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// disturbed returns how many rounds of a point were disturbed.
func disturbed(m *bench.Measurement) (n int) {
	for i := range m.Rounds {
		if m.Rounds[i].Disturbed != "" {
			n++
		}
	}
	return n
}

// counted returns how many rounds count, as "38/40" if some were disturbed.
func counted(m *bench.Measurement) string {
	all, bad := len(m.Rounds), disturbed(m)
	switch {
	case all == 0:
		return none
	case bad == 0:
		return strconv.Itoa(all)
	}
	return fmt.Sprintf("%d/%d", all-bad, all)
}

// conditions returns the conditions of r, and what disturbed it.
func conditions(r *bench.Result) []string {
	all := r.Conditions[:len(r.Conditions):len(r.Conditions)]
	if s := disturbances(r); s != "" {
		all = append(all, s)
	}
	return all
}

// disturbances says how many rounds were disturbed, and by what.
func disturbances(r *bench.Result) string {
	total, lost := 0, 0
	by := make(map[rounds.Disturbance]int)
	for i := range r.Measured {
		m := &r.Measured[i]
		for j := range m.Rounds {
			total++
			by[m.Rounds[j].Disturbed]++
		}
		if m.Disturbed {
			lost++
		}
	}
	if total == 0 {
		return ""
	}
	s := fmt.Sprintf("%s in random order; %d were disturbed and do not count", count(total, "round"), total-by[""])
	if by[""] < total {
		s += fmt.Sprintf(": in %d %s, in %d %s",
			by[rounds.OthersBusy], rounds.OthersBusy, by[rounds.YardstickOff], rounds.YardstickOff)
	}
	if lost > 0 {
		s += fmt.Sprintf("; %s had only such rounds, and the figures are of all of them", count(lost, "point"))
	}
	return s
}
