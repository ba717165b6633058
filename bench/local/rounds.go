package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// Options says how long to measure.
type Options struct {
	Starts int           // rigs, one after the other
	Rounds int           // of each side, with each of them
	Time   time.Duration // length of a round, roughly
}

// Measure runs the rounds of a case.
func (o Options) Measure(ctx context.Context, c *Case) (*Result, error) {
	var s samples
	for range o.Starts {
		if err := o.start(ctx, c, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return s.result(), nil
}

// start runs the rounds of one rig. Afterwards the memory goes back to the system, so that the next one gets
// other memory.
func (o Options) start(ctx context.Context, c *Case, s *samples) (err error) {
	r, err := NewRig(ctx)
	if err != nil {
		return err
	}
	defer debug.FreeOSMemory()
	defer func() { err = errors.Join(err, r.Close()) }()
	p := c.Pair(r)
	return o.rounds(&p, s)
}

// samples is what the rounds of a case have brought.
type samples struct {
	metric                     Metric
	times                      [2][]float64 // nanoseconds an operation
	ratios                     []float64
	mallocs, collections, done uint64 // of the candidate
}

func (s *samples) result() *Result {
	return &Result{
		Metric:      s.metric,
		Ratio:       spread.Of(s.ratios),
		Yardstick:   spread.Median(s.times[0]),
		Candidate:   spread.Median(s.times[1]),
		Allocs:      float64(s.mallocs) / float64(s.done),
		Collections: s.collections,
	}
}

func (o Options) rounds(p *Pair, s *samples) error {
	if p.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(p.Procs))
	}
	s.metric = p.Metric
	ops := [2]func(int) error{p.Yardstick, p.Candidate}
	var n [2]int
	for i, op := range ops {
		var err error
		if n[i], err = o.calibrate(op); err != nil {
			return err
		}
	}
	runtime.GC()
	for _, op := range ops { // the pools that this has emptied fill again
		if err := op(batch); err != nil {
			return err
		}
	}
	var before, after runtime.MemStats
	for range o.Rounds {
		var t [2]float64
		for i, op := range ops {
			runtime.ReadMemStats(&before)
			var err error
			if t[i], err = p.round(op, n[i]); err != nil {
				return err
			}
			s.times[i] = append(s.times[i], t[i])
		}
		runtime.ReadMemStats(&after)
		s.mallocs += after.Mallocs - before.Mallocs
		s.collections += uint64(after.NumGC - before.NumGC)
		s.done += uint64(n[1])
		ratio := t[1] / t[0]
		if p.Metric == Rate {
			ratio = 1 / ratio
		}
		s.ratios = append(s.ratios, ratio)
	}
	return nil
}

// batch is the operations between two looks at the clock where their latency is measured: the clock would be
// a good part of the shortest.
const batch = 16

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
