package paired

import (
	"fmt"
	"runtime"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// Report is the result of a comparison.
type Report struct {
	Yardstick, Candidate Scenario
	Options              Options
	Rounds               []Round

	busy time.Duration // CPU time of all processes of the machine during the rounds
}

// Round is a round of the yardstick, and the round of the candidate right after it.
type Round struct {
	Yardstick, Candidate Measurement
}

// Side has the figures of the yardstick or of the candidate, as medians over the rounds.
type Side struct {
	Value        float64 // in the unit of the report
	ServerCPU    float64 // in the CPU unit of the report
	ClientCPU    float64
	ServerAllocs float64 // for each operation
	ClientAllocs float64
}

// Ratio returns the candidate's value divided by the yardstick's. For Latency, less is better; for
// the other metrics, more is.
func (r *Report) Ratio() spread.Spread {
	return spread.Of(r.each(func(round Round) float64 {
		return r.value(round.Candidate) / r.value(round.Yardstick)
	}))
}

// Interval returns the 95 % interval of the median of Ratio. It goes by the rank of the rounds, so
// it holds for any distribution.
func (r *Report) Interval() (low, high float64) {
	return spread.Interval(r.each(func(round Round) float64 {
		return r.value(round.Candidate) / r.value(round.Yardstick)
	}))
}

// CPU returns the candidate's CPU time at both ends divided by the yardstick's, for the same work.
func (r *Report) CPU() spread.Spread {
	return spread.Of(r.each(func(round Round) float64 {
		y, c := round.Yardstick, round.Candidate
		return (r.cpu(c, c.Server) + r.cpu(c, c.Client)) / (r.cpu(y, y.Server) + r.cpu(y, y.Client))
	}))
}

// OtherCPU returns the CPU time that other processes or virtual machines took during the rounds, in
// CPUs: 1 is a whole CPU. The more it is, the less the ratio is worth. It is 0 if the system does
// not report it.
func (r *Report) OtherCPU() float64 {
	left, elapsed := r.busy, time.Duration(0)
	for _, round := range r.Rounds {
		for _, m := range []Measurement{round.Yardstick, round.Candidate} {
			left -= m.Server.CPU + m.Client.CPU
			elapsed += m.Elapsed
		}
	}
	return max(0, left.Seconds()/elapsed.Seconds())
}

// Sides returns the figures of the yardstick and of the candidate.
func (r *Report) Sides() (yardstick, candidate Side) {
	return r.side(func(round Round) Measurement { return round.Yardstick }),
		r.side(func(round Round) Measurement { return round.Candidate })
}

func (r *Report) side(of func(Round) Measurement) Side {
	median := func(f func(Measurement) float64) float64 {
		return spread.Median(r.each(func(round Round) float64 { return f(of(round)) }))
	}
	return Side{
		Value:        median(r.value),
		ServerCPU:    median(func(m Measurement) float64 { return r.cpu(m, m.Server) }),
		ClientCPU:    median(func(m Measurement) float64 { return r.cpu(m, m.Client) }),
		ServerAllocs: median(func(m Measurement) float64 { return float64(m.Server.Allocs) / float64(m.Operations) }),
		ClientAllocs: median(func(m Measurement) float64 { return float64(m.Client.Allocs) / float64(m.Operations) }),
	}
}

func (r *Report) each(f func(Round) float64) []float64 {
	values := make([]float64, len(r.Rounds))
	for i, round := range r.Rounds {
		values[i] = f(round)
	}
	return values
}

// value returns the value to compare, in Unit.
func (r *Report) value(m Measurement) float64 {
	switch r.Candidate.Metric {
	case Throughput:
		return float64(m.Operations) * float64(r.Candidate.Bytes) / 1e6 / m.Elapsed.Seconds()
	case Latency:
		return float64(m.P50.Nanoseconds()) / 1e3
	}
	return float64(m.Operations) / 1e3 / m.Elapsed.Seconds()
}

// Unit returns the unit of the compared values.
func (r *Report) Unit() string {
	switch r.Candidate.Metric {
	case Throughput:
		return "MB/s"
	case Latency:
		return "us-p50"
	}
	return "kop/s"
}

// cpu returns the CPU time of one process, in CPUUnit.
func (r *Report) cpu(m Measurement, u Usage) float64 {
	if r.Candidate.Metric == Throughput {
		gigabytes := float64(m.Operations) * float64(r.Candidate.Bytes) / 1e9
		return u.CPU.Seconds() * 1e3 / gigabytes
	}
	return u.CPU.Seconds() * 1e6 / float64(m.Operations)
}

// CPUUnit returns the unit of CPU time.
func (r *Report) CPUUnit() string {
	if r.Candidate.Metric == Throughput {
		return "cpu-ms/GB"
	}
	return "cpu-us/op"
}

// Conditions says how the comparison was made, and what this system cannot provide.
func (r *Report) Conditions() string {
	o := r.Options
	pinning := "not pinned to CPUs"
	if r.Candidate.InProcess {
		return fmt.Sprintf("%d starts, %d rounds of %v each, both ends in one process, %s/%s, %s",
			o.Starts, o.Rounds, o.Time, runtime.GOOS, runtime.GOARCH, runtime.Version())
	}
	if len(o.CPUs) == 2 {
		pinning = fmt.Sprintf("server on CPU %d, client on CPU %d", o.CPUs[0], o.CPUs[1])
	} else if cpus, err := host.AllowedCPUs(); err != nil {
		pinning += " (" + err.Error() + ")"
	} else if len(cpus) < 2 {
		pinning += " (there is one CPU only)"
	}
	congestion := "congestion control " + o.Sockets.Congestion
	if o.Sockets.Congestion == "" {
		congestion = "congestion control of the system"
	}
	return fmt.Sprintf("%d starts, %d rounds of %v each, %s, %s, %s/%s, %s",
		o.Starts, o.Rounds, o.Time, pinning, congestion, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
