package bench

import "time"

const (
	// mostRounds is Options.Rounds, if time suffices for them.
	mostRounds = 40
	// lessRounds is how many times fewer rounds get the points that have no say in what is
	// recommended.
	lessRounds = 5
)

// plan returns how many rounds of each point are to be measured within d: as many as are asked for,
// or as leave each of them half as long again as it must be. That is the room for taking some
// again.
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

// contested tells of each point whether it has a say in what is recommended: there is one to
// compare it with, with payload as large the other way, inline or by chunk, and it is over the path
// with most of these.
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
