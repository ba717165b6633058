package report

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// cost is the cost of a call in an invented world: a fixed part, and a part for each byte.
type cost struct {
	us     float64
	perGBs float64 // GB/s of an endless stream
}

// sample is an invented result of the whole grid. No machine has these numbers, but the curves have
// realistic shapes.
func sample() *bench.Result {
	r := &bench.Result{
		Began:  time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Took:   12*time.Minute + 34*time.Second + 560*time.Millisecond,
		Grid:   "full",
		Server: "another process on this host",
		Conditions: []string{
			"linux/amd64, 2 CPUs, go1.26.0; client on CPU 0, server on CPU 1",
			"TCP congestion control reno; the machine was 4 % busy with other things",
		},
	}
	speed := map[bench.Path]cost{
		bench.Loopback: {1.1, 30}, bench.IWARP: {8.4, 11}, bench.IWARPCRC: {8.6, 6.5}, bench.IWARPMarkers: {9.3, 4.5}, bench.TCP: {8.2, 5.6},
	}
	ways := []bench.Way{
		bench.InlineCall, bench.Padded, bench.ReadChunk, bench.LongCall, bench.InlineReply, bench.WriteChunk, bench.ReplyChunk,
	}
	noise := rand.New(rand.NewPCG(8, 166))
	var tooLarge, tooMany []bench.Point
	for _, path := range []bench.Path{bench.Loopback, bench.IWARP, bench.IWARPCRC, bench.IWARPMarkers, bench.TCP} {
		for _, way := range ways {
			if path == bench.TCP && way != bench.InlineCall && way != bench.InlineReply {
				continue
			}
			for _, conns := range []int{1, 4, 64} {
				for _, inFlight := range []int{1, 8, 64} {
					for size := 256; size <= 4<<20; size *= 4 {
						p := bench.Point{Path: path, Way: way, Size: size, InFlight: inFlight, Conns: conns}
						switch {
						case way.Inline() && path != bench.TCP && size > 48<<10:
							tooLarge = append(tooLarge, p)
						case size*inFlight*conns > 1<<28:
							tooMany = append(tooMany, p)
						default:
							r.Measured = append(r.Measured, measure(p, speed[path], noise))
						}
					}
				}
			}
		}
	}
	r.LeftOut = []bench.LeftOut{
		{Why: "the payload does not fit inline", Points: tooLarge},
		{Why: "the calls in flight would need more than 256 MiB", Points: tooMany},
		{Why: "the time was up", Points: []bench.Point{{Path: bench.IWARP, Way: bench.LongCall, Size: 4 << 20, InFlight: 64, Conns: 64}}},
	}
	for size := 256; size <= 4<<20; size *= 4 {
		n := float64(size)
		r.Yardsticks.Copy = append(r.Yardsticks.Copy, bench.Figure{Size: size, Throughput: 9e10 * n / (n + 2000) / (1 + n/2e6)})
		r.Yardsticks.TCP = append(r.Yardsticks.TCP, bench.Figure{Size: size, Throughput: 1.4e10 * n / (n + 30000)})
	}
	r.Yardsticks.PingPong = bench.Latency{P50: 7100, P99: 12300, P999: 31000, Max: 250000}
	bench.Conclude(r)
	return r
}

// measure invents a measurement of p.
func measure(p bench.Point, c cost, noise *rand.Rand) bench.Measurement {
	n := float64(p.Size)
	switch p.Way {
	case bench.InlineCall, bench.InlineReply:
		c.perGBs *= .35 // copied on the way
	case bench.Padded:
		c.perGBs *= .45
	case bench.ReadChunk:
		c.us *= 1.45 // one more round trip
	case bench.WriteChunk:
		c.us *= 1.12
		c.perGBs *= 1.05
	case bench.LongCall, bench.ReplyChunk:
		c.us *= 1.55
		c.perGBs *= .75
	}
	if p.Path == bench.TCP {
		c.perGBs /= .35
	}
	wobble := func() float64 { return math.Exp(noise.NormFloat64() * .02) }
	calls := float64(p.InFlight * p.Conns)
	// Time of the machine for each call.
	us := (c.us*(.12+.88/math.Pow(calls, .8)) + n/c.perGBs/1e3) * wobble()
	latency := us * calls
	m := bench.Measurement{Point: p, Calls: max(1, int64(3e5/us)), Elapsed: 300 * time.Millisecond}
	m.Elapsed = time.Duration(float64(m.Calls) * us * 1e3)
	at := func(x float64) time.Duration { return time.Duration(latency * x * wobble() * 1e3) }
	m.Latency = bench.Latency{P50: at(.93), P99: at(1.9), P999: at(4.5), Max: at(20)}
	use := func(share float64) bench.Usage {
		return bench.Usage{
			CPU: time.Duration(float64(m.Elapsed) * share * wobble()), Allocs: uint64(m.Calls / 3), Bytes: uint64(m.Calls * 40),
			GCs: 1, Heap: 12 << 20, Stacks: 1 << 20, Conns: p.Conns,
		}
	}
	m.Client, m.ServerUsage = use(.7), use(.8)
	if p.Path == bench.Loopback {
		m.Client, m.ServerUsage = use(1.5), bench.Usage{}
	} else {
		m.WireBytes = m.Calls * int64(p.Size+220+p.Size/4000)
		m.Ratio = m.Throughput() / (1.4e10 * n / (n + 30000)) * wobble()
	}
	for i := range 5 {
		r := bench.Round{
			Calls: m.Calls / 5, Elapsed: time.Duration(float64(m.Elapsed) / 5 * wobble()),
			Mark: rounds.Mark{Yardstick: 1.4e10 * n / (n + 30000), Others: .02},
		}
		if i == 2 && p.Size == 16<<10 {
			r.Others, r.Disturbed = .4, rounds.OthersBusy
		}
		m.Rounds = append(m.Rounds, r)
	}
	return m
}
