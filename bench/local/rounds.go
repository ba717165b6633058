package local

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Options says how long to measure.
type Options struct {
	Rounds int           // of each side
	Time   time.Duration // length of a round, roughly
}

// batch is the operations between two looks at the clock where their latency is measured: the clock would be
// a good part of the shortest.
const batch = 16

// Measure runs the rounds of a pair.
func (o Options) Measure(p *Pair) (*Result, error) {
	if p.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(p.Procs))
	}
	ops := [2]func(int) error{p.Yardstick, p.Candidate}
	var n [2]int
	for i, op := range ops {
		var err error
		if n[i], err = o.calibrate(op); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	runtime.GC()
	var times [2][]float64
	var ratios []float64
	var mallocs, collections, done uint64
	var before, after runtime.MemStats
	for range o.Rounds {
		for i, op := range ops {
			runtime.ReadMemStats(&before)
			t, err := p.round(op, n[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			times[i] = append(times[i], t)
			if i == 1 {
				runtime.ReadMemStats(&after)
				mallocs += after.Mallocs - before.Mallocs
				collections += uint64(after.NumGC - before.NumGC)
				done += uint64(n[i])
			}
		}
		last := len(times[0]) - 1
		ratio := times[1][last] / times[0][last]
		if p.Metric == Rate {
			ratio = 1 / ratio
		}
		ratios = append(ratios, ratio)
	}
	return &Result{
		Ratio:       spread(ratios),
		Yardstick:   spread(times[0]).Median,
		Candidate:   spread(times[1]).Median,
		Allocs:      float64(mallocs) / float64(done),
		Collections: int(collections),
	}, nil
}

// calibrate returns how many operations fill a round.
func (o Options) calibrate(op func(int) error) (int, error) {
	for n := batch; ; n *= 2 {
		start := time.Now()
		if err := op(n); err != nil {
			return 0, err
		}
		if t := time.Since(start); t >= o.Time/4 {
			n = int(float64(n) * float64(o.Time) / float64(t))
			return max(batch, n/batch*batch), nil
		}
	}
}

// round does n operations, a multiple of batch, and returns the nanoseconds that each took: the mean, or the median of the batches.
func (p *Pair) round(op func(int) error, n int) (float64, error) {
	if p.Metric == Rate {
		start := time.Now()
		err := op(n)
		return float64(time.Since(start)) / float64(n), err
	}
	took := make([]time.Duration, 0, n/batch)
	for range n / batch {
		start := time.Now()
		if err := op(batch); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return float64(took[len(took)/2]) / batch, nil
}
