package bench

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// Round is one of the times that a point was measured.
type Round struct {
	Calls   int64         `json:"calls"`
	Elapsed time.Duration `json:"elapsed_ns"`
	rounds.Mark
}

// speed returns the throughput of a round with payload of this size, in bytes a second.
func (r *Round) speed(size int) float64 {
	return float64(r.Calls) * float64(size) / r.Elapsed.Seconds()
}

// gauge is a yardstick: a copy, or raw TCP.
type gauge struct {
	copied bool
	size   int
}

func gaugeOf(p *Point) gauge { return gauge{p.Path == Loopback, p.Size} }

// judged marks the rounds that were disturbed, and returns how many of each point were not. Each
// Measurement in taken has one Round.
func judged(taken [][]Measurement) []int {
	by := make(map[gauge][]*rounds.Mark)
	for _, of := range taken {
		for i := range of {
			g := gaugeOf(&of[i].Point)
			by[g] = append(by[g], &of[i].Rounds[0].Mark)
		}
	}
	for _, marks := range by {
		rounds.Judge(marks)
	}
	counted := make([]int, len(taken))
	for i, of := range taken {
		for j := range of {
			if of[j].Rounds[0].Disturbed == "" {
				counted[i]++
			}
		}
	}
	return counted
}

// merged combines the rounds of one point into one Measurement.
func merged(taken []Measurement) Measurement {
	m := Measurement{Point: taken[0].Point}
	var good []*Measurement
	for i := range taken {
		m.Rounds = append(m.Rounds, taken[i].Rounds...)
		if taken[i].Rounds[0].Disturbed == "" {
			good = append(good, &taken[i])
		}
	}
	if m.Disturbed = len(good) == 0; m.Disturbed {
		for i := range taken {
			good = append(good, &taken[i])
		}
	}
	for _, g := range good {
		m.Calls += g.Calls
		m.Elapsed += g.Elapsed
		m.WireBytes += g.WireBytes
		m.Client = m.Client.Plus(g.Client)
		m.ServerUsage = m.ServerUsage.Plus(g.ServerUsage)
		m.Latency.Max = max(m.Latency.Max, g.Latency.Max)
	}
	median := func(of func(*Measurement) float64) float64 {
		var values []float64
		for _, g := range good {
			values = append(values, of(g))
		}
		return spread.Median(values)
	}
	latency := func(of func(*Latency) time.Duration) time.Duration {
		return time.Duration(median(func(m *Measurement) float64 { return float64(of(&m.Latency)) }))
	}
	m.Latency.P50 = latency(func(l *Latency) time.Duration { return l.P50 })
	m.Latency.P99 = latency(func(l *Latency) time.Duration { return l.P99 })
	m.Latency.P999 = latency(func(l *Latency) time.Duration { return l.P999 })
	m.Ratio = median(func(m *Measurement) float64 { return m.Ratio })
	return m
}
