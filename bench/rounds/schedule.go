package rounds

import (
	"errors"
	"time"
)

// Schedule says in which order things are measured, how often, and until when.
type Schedule struct {
	// Wanted is how many rounds of each thing should count.
	Wanted []int
	// First is the order of the first pass; nil means the order of Wanted.
	First []int
	// Shuffle puts the other passes in random order; nil leaves them in the order of Wanted.
	Shuffle func(n int, swap func(i, j int))
	// Counted returns how many rounds of each thing count so far. It is called before each pass but
	// the first. Rounds that do not count are repeated, up to twice Wanted in all. nil means that
	// all count.
	Counted func() []int

	// Until is the end, if it is not zero. Each round then has its share of the time left, between
	// Least and Most.
	Until       time.Time
	Least, Most time.Duration

	// Begin, if not nil, is called before each round.
	Begin func(thing int, p Progress)
}

// Progress is how far a Schedule is.
type Progress struct {
	Done  int // rounds measured; repeated ones do not count
	Total int
	Left  time.Duration // until Until
}

var (
	// ErrTime means that less than Least is left, and some things lack rounds.
	ErrTime = errors.New("no time is left")
	// ErrSkip is returned by a round to give up its thing. The other things go on.
	ErrSkip = errors.New("given up")
)

// Each returns Schedule.Wanted for things that are measured equally often.
func Each(things, rounds int) []int {
	wanted := make([]int, things)
	for i := range wanted {
		wanted[i] = rounds
	}
	return wanted
}

// Run calls take for each round, with its share of the time, which is zero without Until. An error
// other than ErrSkip ends it.
func (s *Schedule) Run(take func(thing int, share time.Duration) error) error {
	r := run{Schedule: s, taken: make([]int, len(s.Wanted)), skipped: make([]bool, len(s.Wanted))}
	r.counted = r.taken
	for order := r.first(); len(order) > 0; order = r.next() {
		missing := r.missing()
		for n, thing := range order {
			var left, share time.Duration
			if !s.Until.IsZero() {
				if left = time.Until(s.Until); left < s.Least {
					return ErrTime
				}
				share = min(max(left/time.Duration(missing-n), s.Least), s.Most)
			}
			r.begin(thing, left)
			switch err := take(thing, share); {
			case errors.Is(err, ErrSkip):
				r.skipped[thing], r.taken[thing] = true, 0
			case err != nil:
				return err
			default:
				r.taken[thing]++
			}
		}
	}
	return nil
}

// run is a Schedule under way.
type run struct {
	*Schedule
	taken, counted []int // rounds of each thing so far
	skipped        []bool
}

// first returns the order of the first pass.
func (r *run) first() []int {
	if r.First != nil {
		return r.First
	}
	return r.wanting()
}

// next returns the order of another pass.
func (r *run) next() []int {
	if r.Counted != nil {
		r.counted = r.Counted()
	}
	order := r.wanting()
	if r.Shuffle != nil {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// wanting returns the things that need another round.
func (r *run) wanting() (things []int) {
	for i, n := range r.Wanted {
		if r.lacks(i) > 0 && r.taken[i] < 2*n {
			things = append(things, i)
		}
	}
	return things
}

// lacks returns how many rounds of thing i are still to be measured.
func (r *run) lacks(i int) int {
	if r.skipped[i] {
		return 0
	}
	return max(0, r.Wanted[i]-r.counted[i]) // more of them may count in the end than in between
}

// missing returns how many rounds are still to be measured.
func (r *run) missing() (rounds int) {
	for i := range r.Wanted {
		rounds += r.lacks(i)
	}
	return rounds
}

// begin announces a round.
func (r *run) begin(thing int, left time.Duration) {
	if r.Begin == nil {
		return
	}
	p := Progress{Left: left}
	for i, n := range r.Wanted {
		p.Done += min(n, r.taken[i])
		p.Total += n
	}
	r.Begin(thing, p)
}
