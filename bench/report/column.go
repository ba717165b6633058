package report

import (
	"math"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// column is a column of the table, in the terminal and in HTML.
type column struct {
	group, name string // adjacent columns may share a group
	cell        func(*bench.Measurement) string
}

// columns has the columns for a point. GB are 10^9 bytes of payload.
var columns = []column{
	{"", "size", func(m *bench.Measurement) string { return bench.FormatSize(m.Size) }},
	{"calls in", "flight", func(m *bench.Measurement) string { return strconv.Itoa(m.InFlight) }},
	{"", "conns", func(m *bench.Measurement) string { return strconv.Itoa(m.Conns) }},
	{"", "MB/s", func(m *bench.Measurement) string { return number(m.Throughput() / 1e6) }},
	{"", "calls/s", func(m *bench.Measurement) string { return number(m.Rate()) }},
	{"latency, us", "p50", func(m *bench.Measurement) string { return number(latency(m.Latency.P50)) }},
	{"latency, us", "p99", func(m *bench.Measurement) string { return number(latency(m.Latency.P99)) }},
	{"latency, us", "p99.9", func(m *bench.Measurement) string { return number(latency(m.Latency.P999)) }},
	{"CPU, s/GB", "client", func(m *bench.Measurement) string { return number(perGB(m, &m.Client)) }},
	{"CPU, s/GB", "server", func(m *bench.Measurement) string { return number(perGB(m, server(m))) }},
	{"CPU, us/call", "client", func(m *bench.Measurement) string { return number(perCall(m, &m.Client)) }},
	{"CPU, us/call", "server", func(m *bench.Measurement) string { return number(perCall(m, server(m))) }},
	{"allocs/call", "client", func(m *bench.Measurement) string { return number(allocs(m, &m.Client)) }},
	{"allocs/call", "server", func(m *bench.Measurement) string { return number(allocs(m, server(m))) }},
	{"wire per", "payload", func(m *bench.Measurement) string { return number(wire(m)) }},
	{"ratio", "to raw", func(m *bench.Measurement) string { return number(ratio(m)) }},
	{"rounds", "good", counted},
}

// server returns the server's usage, or nil if it is not known, as on loopback.
func server(m *bench.Measurement) *bench.Usage {
	if m.Path == bench.Loopback || m.ServerUsage == (bench.Usage{}) {
		return nil
	}
	return &m.ServerUsage
}

// payload returns the bytes of payload that the calls of m have moved.
func payload(m *bench.Measurement) float64 { return float64(m.Calls) * float64(m.Size) }

// The following return NaN or infinity if there is no such figure.

// latency returns microseconds.
func latency(d time.Duration) float64 {
	if d == 0 {
		return math.NaN()
	}
	return microseconds(d)
}

// perGB returns seconds.
func perGB(m *bench.Measurement, u *bench.Usage) float64 {
	if u == nil {
		return math.NaN()
	}
	return u.CPU.Seconds() / (payload(m) / 1e9)
}

// perCall returns microseconds.
func perCall(m *bench.Measurement, u *bench.Usage) float64 {
	if u == nil {
		return math.NaN()
	}
	return microseconds(u.CPU) / float64(m.Calls)
}

func allocs(m *bench.Measurement, u *bench.Usage) float64 {
	if u == nil {
		return math.NaN()
	}
	return float64(u.Allocs) / float64(m.Calls)
}

func wire(m *bench.Measurement) float64 {
	if m.WireBytes == 0 {
		return math.NaN()
	}
	return float64(m.WireBytes) / payload(m)
}

// ratio returns the ratio to raw, except for single small calls. These wait for each reply, while
// the raw stream waits for nothing.
func ratio(m *bench.Measurement) float64 {
	if m.Ratio == 0 || m.Path != bench.Loopback && m.InFlight*m.Conns == 1 && m.Size < large {
		return math.NaN()
	}
	return m.Ratio
}
