package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// cards returns the three figures that matter most, as far as they were measured: the size from
// which to use chunks, the throughput, and the latency of a small call.
func cards(r *bench.Result) []card {
	var all []card
	path := r.Advice.Path
	if all = append(all, crossoverCards(r, path)...); path == "" {
		if p := paths(r); len(p) > 0 {
			path = p[0]
		}
	}
	var most, single *bench.Measurement
	for i := range r.Measured {
		m := &r.Measured[i]
		if m.Path != path || m.Calls == 0 || m.Elapsed <= 0 {
			continue
		}
		if most == nil || m.Throughput() > most.Throughput() {
			most = m
		}
		if m.Latency.P50 > 0 && (single == nil || lighter(m, single) < 0) {
			single = m
		}
	}
	if most != nil {
		c := card{throughput(most.Throughput()), "at most over " + string(path), describe(most)}
		if most.Ratio > 0 && path != bench.Loopback {
			c.Note += fmt.Sprintf(": %s of raw TCP", number(most.Ratio))
		}
		all = append(all, c)
	}
	if single != nil {
		c := card{duration(single.Latency.P50), "for a small call (median)", describe(single)}
		if ping := r.Yardsticks.PingPong.P50; ping > 0 && path != bench.Loopback {
			c.Note += fmt.Sprintf(": %s times raw TCP's %s",
				number(float64(single.Latency.P50)/float64(ping)), duration(ping))
		}
		all = append(all, c)
	}
	return all
}

// lighter compares by calls under way, then size, then latency.
func lighter(a, b *bench.Measurement) int {
	return cmp.Or(
		cmp.Compare(a.InFlight*a.Conns, b.InFlight*b.Conns),
		cmp.Compare(a.Size, b.Size),
		cmp.Compare(a.Latency.P50, b.Latency.P50))
}

// crossoverCards returns a card for each direction of a path that was compared.
func crossoverCards(r *bench.Result, path bench.Path) []card {
	var all []card
	for _, d := range bench.Decisions(r.Crossovers) {
		if d.Path == path {
			c := card{brief(d), "for payload of " + d.Direction(), d.Gain()}
			if c.Figure != d.Where() {
				c.Note = d.Where() + "; " + c.Note
			}
			all = append(all, c)
		}
	}
	return all
}

// describe says what was measured.
func describe(m *bench.Measurement) string {
	return fmt.Sprintf("%s, %s, %s", m.Way, bench.FormatSize(m.Size), of(&m.Point))
}

func duration(d time.Duration) string { return scaled(float64(d), "ns", "µs", "ms", "s") }
