package bench

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// Round is one of the times that a point was measured.
type Round struct {
	Calls   int64         `json:"calls"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Yardstick is what raw TCP, or over Loopback a copy, moved right before, in bytes a second.
	Yardstick float64 `json:"yardstick,omitempty"`
	// Others is the share of the CPUs that was used by others than this benchmark, or withheld by
	// the host of a virtual machine: of the server's CPUs or of the client's, whichever is more.
	// It is 0 where the system does not tell.
	Others float64 `json:"others"`
	// Disturbed says by what the round was disturbed; empty if it was not.
	Disturbed Disturbance `json:"disturbed,omitempty"`
}

// Disturbance is why a round does not count.
type Disturbance string

// The disturbances.
const (
	OthersBusy   Disturbance = "others used the CPUs"
	YardstickOff Disturbance = "the yardstick was off"
)

const (
	// muchOthers is the share of the CPUs from which on others disturb. Where nobody else runs, the
	// kernel's ticks make it 0 to 6 %; with 10 to 20 % calls are up to three times as slow.
	muchOthers = .15
	// farOff is how many times as fast or as slow as usual a yardstick disturbs.
	farOff = 2
)

// speed is the throughput of a round of payload of a size, in bytes a second.
func (r *Round) speed(size int) float64 {
	return float64(r.Calls) * float64(size) / r.Elapsed.Seconds()
}

// gauge is a yardstick: a copy, or raw TCP.
type gauge struct {
	copied bool
	size   int
}

func gaugeOf(p *Point) gauge { return gauge{p.Path == Loopback, p.Size} }

// judge marks the rounds that were disturbed, each a Measurement with one Round.
func judge(rounds [][]Measurement) {
	all := make(map[gauge][]float64)
	for _, of := range rounds {
		for i := range of {
			if y := of[i].Rounds[0].Yardstick; y > 0 {
				g := gaugeOf(&of[i].Point)
				all[g] = append(all[g], y)
			}
		}
	}
	medians := make(map[gauge]float64)
	for g, of := range all {
		medians[g] = spread.Median(of)
	}
	for _, of := range rounds {
		for i := range of {
			r, median := &of[i].Rounds[0], medians[gaugeOf(&of[i].Point)]
			switch {
			case r.Others > muchOthers:
				r.Disturbed = OthersBusy
			case r.Yardstick > farOff*median || r.Yardstick*farOff < median:
				r.Disturbed = YardstickOff
			default:
				r.Disturbed = ""
			}
		}
	}
}

// merged returns the Measurement that rounds of one point come to.
func merged(rounds []Measurement) Measurement {
	m := Measurement{Point: rounds[0].Point}
	var good []*Measurement
	for i := range rounds {
		m.Rounds = append(m.Rounds, rounds[i].Rounds...)
		if rounds[i].Rounds[0].Disturbed == "" {
			good = append(good, &rounds[i])
		}
	}
	if m.Disturbed = len(good) == 0; m.Disturbed {
		for i := range rounds {
			good = append(good, &rounds[i])
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
