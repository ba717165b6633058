package paired

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// profileTime is the length of the profiled run: 200 samples.
const profileTime = 2 * time.Second

// Compare measures the candidate against the yardstick. Both are names of registered scenarios with
// the same metric. They run in processes of their own, or in this one if both are InProcess.
func Compare(ctx context.Context, o Options, yardstick, candidate string) (*Report, error) {
	r, err := compare(ctx, o, yardstick, candidate)
	if err != nil {
		return nil, fmt.Errorf("paired: %s against %s: %w", candidate, yardstick, err)
	}
	return r, nil
}

func compare(ctx context.Context, o Options, yardstick, candidate string) (_ *Report, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	names := [2]string{yardstick, candidate}
	var both [2]Scenario
	for i := range both {
		if both[i], err = find(names[i]); err != nil {
			return nil, err
		}
	}
	if why := both[0].comparable(both[1]); why != "" {
		return nil, errors.New(why)
	}
	r := &Report{Yardstick: both[0], Candidate: both[1], Options: o}
	for start := range o.Starts {
		if err := r.measure(ctx, start); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// start starts the processes for both scenarios.
func (r *Report) start(ctx context.Context) (*pair, error) {
	if r.Candidate.InProcess {
		return startHere(ctx, r.Options, r.Candidate.Procs), nil
	}
	return startPair(ctx, r.Options)
}

// measure adds the rounds of one pair of processes. Every other pair opens the candidate first,
// because the first to open may get the better memory.
func (r *Report) measure(ctx context.Context, start int) (err error) {
	o := r.Options
	p, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()

	both := [2]Scenario{r.Yardstick, r.Candidate}
	var ids, operations [2]int
	for i := range both {
		i ^= start & 1
		if ids[i], err = p.open(both[i], o.Sockets); err != nil {
			return err
		}
		unit := max(1, both[i].Batch)
		if operations[i], err = p.calibrate(ids[i], unit, o.Time); err != nil {
			return err
		}
	}
	if p.here {
		if err := p.settle(ids, operations); err != nil {
			return err
		}
	}
	before := host.BusyTime()
	var taken [2][]Measurement
	schedule := rounds.Schedule{Wanted: rounds.Each(2, o.Rounds)}
	err = schedule.Run(func(i int, _ time.Duration) error {
		m, err := p.run(ids[i], operations[i])
		taken[i] = append(taken[i], m)
		return err
	})
	if err != nil {
		return err
	}
	for i := range taken[0] {
		r.Rounds = append(r.Rounds, Round{taken[0][i], taken[1][i]})
	}
	r.busy += host.BusyTime().Since(before).All()
	if o.Profile != "" && start == 0 {
		last := r.Rounds[len(r.Rounds)-1].Candidate
		n := int(float64(last.Operations) * profileTime.Seconds() / last.Elapsed.Seconds())
		if err := p.profile(ids[1], n, r.Candidate, o.Profile); err != nil {
			return err
		}
	}
	return errors.Join(p.close(ids[1]), p.close(ids[0]))
}
