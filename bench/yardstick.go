package bench

import (
	"maps"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// yardsticks collects the figures of one yardstick by size.
type yardsticks map[int][]float64

// add adds a figure.
func (y yardsticks) add(size int, rate float64) { y[size] = append(y[size], rate) }

// figures returns the median at each size.
func (y yardsticks) figures() []Figure {
	var all []Figure
	for _, size := range slices.Sorted(maps.Keys(y)) {
		all = append(all, Figure{Size: size, Throughput: spread.Median(y[size])})
	}
	return all
}

// copyRate measures for about d how many bytes a second are copied, size bytes at a time.
func (r *runner) copyRate(size int, d time.Duration) float64 {
	const turn = 64 << 10 // bytes between readings of the clock, whose cost then does not matter
	from, to := r.payload[:size], r.copied[:size]
	begin := time.Now()
	for n := 0; ; {
		for range max(turn/size, 1) {
			n += copy(to, from)
		}
		if took := time.Since(begin); took >= d {
			return float64(n) / took.Seconds()
		}
	}
}

// measureYardsticks measures the yardsticks at all sizes of a grid, for about d in all.
func (r *runner) measureYardsticks(g Grid, d time.Duration) error {
	sizes := valuesOf(g.Points, func(p Point) int { return p.Size })
	share := d / 3 / time.Duration(len(sizes))
	for _, size := range sizes {
		r.copies.add(size, r.copyRate(size, share/2))
		if _, err := r.stream(size, share); err != nil {
			return err
		}
	}
	times := newRecorder()
	if err := r.raw.PingPong(d/3, times.record); err != nil {
		return err
	}
	r.result.Yardsticks.PingPong = times.latency()
	return nil
}

// stream measures raw TCP for about d.
func (r *runner) stream(size int, d time.Duration) (rate float64, err error) {
	if rate, err = r.raw.Stream(size, d); err == nil {
		r.streams.add(size, rate)
	}
	return rate, err
}

// yardstick measures the yardstick of a point, in bytes a second.
func (r *runner) yardstick(p Point, d time.Duration) (rate float64, err error) {
	if p.Path == Loopback {
		rate = r.copyRate(p.Size, d)
		r.copies.add(p.Size, rate)
		return rate, nil
	}
	return r.stream(p.Size, d)
}
