package report

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// small is a small result whose figures can be checked by hand.
func small() *bench.Result {
	point := func(path bench.Path, way bench.Way, size, inFlight, conns int, us float64) bench.Measurement {
		const calls = 1000
		at := func(us float64) time.Duration { return time.Duration(us * 1e3) }
		m := bench.Measurement{
			Point: bench.Point{Path: path, Way: way, Size: size, InFlight: inFlight, Conns: conns},
			Calls: calls, Elapsed: at(us * calls),
			Latency: bench.Latency{P50: at(us), P99: at(2 * us), P999: at(3 * us), Max: at(100 * us)},
			Client:  bench.Usage{CPU: at(us * calls / 2), Allocs: 2500, Conns: conns},
		}
		if path != bench.Loopback {
			m.Ratio = m.Throughput() / 1.4e10
			m.ServerUsage = bench.Usage{CPU: at(us * calls / 4), Allocs: 5, Conns: conns}
			m.WireBytes = calls * int64(size+256)
		}
		for range 4 { // all alike
			r := bench.Round{Calls: calls / 4, Elapsed: m.Elapsed / 4}
			if m.Ratio > 0 {
				r.Yardstick = 1.4e10
			}
			m.Rounds = append(m.Rounds, r)
		}
		return m
	}
	r := &bench.Result{
		Began:      time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Took:       41*time.Second + 234*time.Millisecond,
		Grid:       "quick",
		Server:     "another process on this host",
		Conditions: []string{"linux/amd64, 2 CPUs, go1.26.0", "TCP congestion control reno"},
		Yardsticks: bench.Yardsticks{
			Copy:     []bench.Figure{{Size: 1 << 10, Throughput: 3e10}, {Size: 1 << 20, Throughput: 3.7e10}},
			TCP:      []bench.Figure{{Size: 1 << 20, Throughput: 1.3e10}},
			PingPong: bench.Latency{P50: 7100, P99: 12300, P999: 31000, Max: 250000},
		},
		Measured: []bench.Measurement{
			point(bench.IWARP, bench.InlineCall, 1<<10, 1, 1, 10),
			point(bench.IWARP, bench.InlineCall, 16<<10, 1, 1, 40),
			point(bench.IWARP, bench.ReadChunk, 1<<10, 1, 1, 20),
			point(bench.IWARP, bench.ReadChunk, 16<<10, 1, 1, 20),
			point(bench.IWARP, bench.ReadChunk, 1<<20, 1, 1, 100),
			point(bench.IWARP, bench.ReadChunk, 1<<20, 8, 1, 80),
			point(bench.IWARP, bench.InlineReply, 1<<10, 1, 1, 9.5),
			point(bench.Loopback, bench.WriteChunk, 1<<10, 1, 4, .8),
			point(bench.TCP, bench.InlineCall, 1<<10, 1, 1, 12),
		},
		LeftOut: []bench.LeftOut{
			{Why: "the time was up", Points: []bench.Point{{Path: bench.TCP, Way: bench.InlineCall, Size: 1 << 20}}},
			{Why: "a Send is at most 65536 bytes", Points: []bench.Point{
				{Path: bench.IWARP, Way: bench.InlineCall, Size: 64 << 10}, {Path: bench.IWARPCRC, Way: bench.InlineReply, Size: 4 << 20},
			}},
		},
	}
	bench.Conclude(r)
	for i := range r.Measured {
		if r.Measured[i].Path == bench.TCP {
			r.Measured[i].Ratio = 0
		}
	}
	return r
}

// partial are results with missing parts.
func partial() map[string]*bench.Result {
	all := map[string]*bench.Result{"nothing": {}}
	add := func(name string, change func(*bench.Result)) {
		r := small()
		change(r)
		bench.Conclude(r)
		all[name] = r
	}
	add("no points", func(r *bench.Result) { r.Measured = nil })
	add("no yardsticks", func(r *bench.Result) { r.Yardsticks = bench.Yardsticks{} })
	add("one point", func(r *bench.Result) { r.Measured = r.Measured[:1] })
	add("calls alone", func(r *bench.Result) { r.Measured = r.Measured[:2] })
	add("TCP alone", func(r *bench.Result) { r.Measured = r.Measured[8:] })
	add("loopback alone", func(r *bench.Result) { r.Measured = r.Measured[7:8] })
	add("empty points", func(r *bench.Result) { r.Measured = append(r.Measured, bench.Measurement{}) })
	add("no call returned", func(r *bench.Result) {
		for i := range r.Measured {
			m := &r.Measured[i]
			*m = bench.Measurement{Point: m.Point, Elapsed: time.Second}
		}
	})
	add("no time passed", func(r *bench.Result) {
		for i := range r.Measured {
			r.Measured[i].Elapsed = 0
		}
	})
	add("left out without points", func(r *bench.Result) { r.LeftOut = []bench.LeftOut{{Why: "none"}} })
	return all
}
