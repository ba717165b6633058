package bench

import "time"

const (
	// mostRounds is the default of Options.Rounds.
	mostRounds = 40
	// lessRounds is how many times fewer rounds a point gets if the recommendation does not depend
	// on it.
	lessRounds = 5
)

// plan returns how many rounds to measure of each point within d: as many as asked for, or fewer,
// so that each can take half as long again as MinPerRound. That leaves time to repeat some rounds.
func (o *Options) plan(points []Point, d time.Duration) []int {
	rounds := make([]int, len(points))
	say := contested(points)
	for most := o.Rounds; ; most-- {
		all := 0
		for i := range points {
			rounds[i] = max(1, most/lessRounds)
			if say[i] {
				rounds[i] = most
			}
			all += rounds[i]
		}
		if most <= 1 || time.Duration(all)*o.MinPerRound*3/2 <= d {
			return rounds
		}
	}
}

// contested reports for each point whether the recommendation depends on it. That is so if the same
// point was measured the other way, inline or by chunk, on the path with most such pairs.
func contested(points []Point) []bool {
	all := make(map[Point]bool)
	for _, p := range points {
		all[p] = true
	}
	say := make([]bool, len(points))
	over := make(map[Path]int)
	for i, p := range points {
		for _, c := range []contest{forCalls, forReplies} {
			switch p.Way {
			case c.inline:
				p.Way = c.chunk
			case c.chunk:
				p.Way = c.inline
			default:
				continue
			}
			if say[i] = all[p]; say[i] {
				over[p.Path]++
			}
			break
		}
	}
	main := mainPath(over)
	for i, p := range points {
		say[i] = say[i] && p.Path == main
	}
	return say
}
