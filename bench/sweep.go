package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// measure measures one round of a point, in about share. The Measurement has one Round.
type measure func(ctx context.Context, p Point, share time.Duration) (Measurement, error)

// sweep measures the points of g in rounds until a time, and adds the results to r in the order of
// the grid.
//
// The first pass has the order of inOrder, so that the grid is covered even if time runs out. The
// others have random order, so that slow changes of the machine do not look like differences
// between points. A later pass repeats a disturbed round, which shortens the others.
//
// A point that fails is left out, and its error is part of the returned one, like that of ctx. A
// *LostError ends the sweep.
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
