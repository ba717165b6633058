package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// measure is what takes a round of a point, within about some time: a Measurement with one Round.
type measure func(ctx context.Context, p Point, share time.Duration) (Measurement, error)

// sweep has the points of a grid measured in rounds, until a time, and adds what came of it to r in
// the order of the grid.
//
// A pass measures each point once that has not had its rounds. The first pass is in the order of
// inOrder, so that points without a round, if time runs out, still leave the grid covered. The
// others are in random order, so that what changes with time is not taken for a difference of
// points. A round that was disturbed is taken again in a later pass, which shortens the rest, until
// a point has had twice its rounds.
//
// A point that fails is left out; the error tells, and wraps that of ctx if it has ended. A
// *LostError of a round is the last.
func (o *Options) sweep(ctx context.Context, g Grid, until time.Time, r *Result, take measure) error {
	s := sweep{o: o, points: g.Points, wanted: o.plan(g.Points, time.Until(until)), until: until,
		taken: make([][]Measurement, len(g.Points)), failed: make([]bool, len(g.Points))}
	why, err := s.passes(ctx, r, take)
	var rest []Point
	for i, rounds := range s.taken {
		switch {
		case s.failed[i]:
		case len(rounds) == 0:
			rest = append(rest, g.Points[i])
		default:
			r.Measured = append(r.Measured, merged(rounds))
		}
	}
	r.LeftOut = leaveOut(r.LeftOut, why, rest...)
	return err
}

// sweep is a sweep under way.
type sweep struct {
	o      *Options
	points []Point
	wanted []int // rounds of each point
	until  time.Time
	taken  [][]Measurement // rounds of each point so far
	failed []bool
}

// passes goes on until all points have had their rounds, and says why not if they have not.
func (s *sweep) passes(ctx context.Context, r *Result, take measure) (why string, err error) {
	var failed []error
	defer func() { judge(s.taken); err = errors.Join(failed...) }()
	for order := inOrder(s.points); len(order) > 0; order = s.next() {
		rounds := s.missing()
		for n, i := range order {
			left := time.Until(s.until)
			if left < s.o.MinPerRound {
				return fmt.Sprintf("no time was left of %v", s.o.Time.Round(time.Second)), nil
			}
			p := s.points[i]
			s.progress(p, left)
			share := max(left/time.Duration(rounds-n), s.o.MinPerRound)
			m, err := take(ctx, p, min(share, s.o.MaxPerRound))
			switch {
			case ctx.Err() != nil:
				failed = append(failed, ctx.Err())
				return "interrupted", nil
			case errors.As(err, new(*LostError)):
				failed = append(failed, err)
				return "the server was lost", nil
			case err != nil:
				err = fmt.Errorf("%s: %w", p, err)
				r.LeftOut = leaveOut(r.LeftOut, "failed: "+err.Error(), p)
				failed = append(failed, err)
				s.failed[i], s.taken[i] = true, nil
			default:
				s.taken[i] = append(s.taken[i], m)
			}
		}
	}
	return "", nil
}

// next returns the points of the next pass, in random order.
func (s *sweep) next() (order []int) {
	judge(s.taken)
	for i := range s.points {
		if s.lacks(i) > 0 && len(s.taken[i]) < 2*s.wanted[i] {
			order = append(order, i)
		}
	}
	s.o.shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// lacks is how many rounds of a point are still to be measured.
func (s *sweep) lacks(i int) int {
	if s.failed[i] {
		return 0
	}
	n := s.wanted[i]
	for j := range s.taken[i] {
		if s.taken[i][j].Rounds[0].Disturbed == "" {
			n--
		}
	}
	return max(0, n) // more of them may be found good in the end than in between
}

// missing is how many rounds are still to be measured of all points, disturbed ones aside.
func (s *sweep) missing() (rounds int) {
	for i := range s.points {
		rounds += s.lacks(i)
	}
	return rounds
}

// progress tells that a point is about to be measured.
func (s *sweep) progress(p Point, left time.Duration) {
	at := Progress{Point: p, Points: len(s.points), Left: left}
	for i, n := range s.wanted {
		at.Done += min(n, len(s.taken[i]))
		at.Total += n
	}
	s.o.Progress(at)
}
