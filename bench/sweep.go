package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// measure is what takes a round of a point, within about some time: a Measurement with one Round.
type measure func(ctx context.Context, p Point, share time.Duration) (Measurement, error)

// sweep has the points of a grid measured in rounds, until a time, and adds what came of it to r in
// the order of the grid.
//
// The first pass is in the order of inOrder, so that points without a round, if time runs out,
// still leave the grid covered. The others are in random order, so that what changes with time is
// not taken for a difference of points. A round that was disturbed is taken again in a later pass,
// which shortens the rest.
//
// A point that fails is left out; the error tells, and wraps that of ctx if it has ended. A
// *LostError of a round is the last.
func (o *Options) sweep(ctx context.Context, g Grid, until time.Time, r *Result, take measure) error {
	taken := make([][]Measurement, len(g.Points)) // rounds of each point so far
	failed := make([]error, len(g.Points))
	schedule := rounds.Schedule{
		Wanted: o.plan(g.Points, time.Until(until)), First: inOrder(g.Points), Shuffle: o.shuffle,
		Counted: func() []int { return judged(taken) },
		Until:   until, Least: o.MinPerRound, Most: o.MaxPerRound,
		Begin: func(i int, p rounds.Progress) {
			o.Progress(Progress{
				Point: g.Points[i], Points: len(g.Points), Done: p.Done, Total: p.Total, Left: p.Left,
			})
		},
	}
	why := "interrupted"
	err := schedule.Run(func(i int, share time.Duration) error {
		p := g.Points[i]
		m, err := take(ctx, p, share)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(*LostError)):
			why = "the server was lost"
			return err
		case err != nil:
			err = fmt.Errorf("%s: %w", p, err)
			r.LeftOut = leaveOut(r.LeftOut, "failed: "+err.Error(), p)
			failed[i], taken[i] = err, nil
			return rounds.ErrSkip
		}
		taken[i] = append(taken[i], m)
		return nil
	})
	if errors.Is(err, rounds.ErrTime) {
		why, err = fmt.Sprintf("no time was left of %v", o.Time.Round(time.Second)), nil
	}
	judged(taken)
	for i, p := range g.Points {
		switch {
		case len(taken[i]) > 0:
			r.Measured = append(r.Measured, merged(taken[i]))
		case failed[i] == nil:
			r.LeftOut = leaveOut(r.LeftOut, why, p)
		}
	}
	return errors.Join(append(failed, err)...)
}
