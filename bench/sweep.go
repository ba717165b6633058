package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sweep has each point measured, until a time, and adds what came of it to r in the order of the grid. A point that fails is left out;
// the error tells, and wraps that of ctx if it has ended. A *LostError of measure is the last.
func (o *Options) sweep(ctx context.Context, g Grid, until time.Time, r *Result, measure func(context.Context, Point, time.Duration) (Measurement, error)) error {
	done := make([]*Measurement, len(g.Points))
	var failed []error
	order := inOrder(g.Points)
	for n, i := range order {
		p, left := g.Points[i], time.Until(until)
		rest := func() (points []Point) {
			for _, i := range order[n:] {
				points = append(points, g.Points[i])
			}
			return points
		}
		if left < o.MinPerPoint {
			r.LeftOut = leaveOut(r.LeftOut, fmt.Sprintf("no time was left of %v", o.Time.Round(time.Second)), rest()...)
			break
		}
		o.Progress(Progress{Point: p, Done: n, Total: len(order), Left: left})
		m, err := measure(ctx, p, min(max(left/time.Duration(len(order)-n), o.MinPerPoint), o.MaxPerPoint))
		if ctx.Err() != nil {
			r.LeftOut = leaveOut(r.LeftOut, "interrupted", rest()...)
			failed = append(failed, ctx.Err())
			break
		}
		if errors.As(err, new(*LostError)) {
			r.LeftOut = leaveOut(r.LeftOut, "the server was lost", rest()...)
			failed = append(failed, err)
			break
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", p, err)
			r.LeftOut = leaveOut(r.LeftOut, "failed: "+err.Error(), p)
			failed = append(failed, err)
			continue
		}
		done[i] = &m
	}
	for _, m := range done {
		if m != nil {
			r.Measured = append(r.Measured, *m)
		}
	}
	return errors.Join(failed...)
}
