package rounds

import (
	"errors"
	"time"
)

// Schedule says in which order things are measured, how often, and until when.
type Schedule struct {
	// Wanted is how many rounds each thing is to have that count.
	Wanted []int
	// First is the order of the first pass; nil means that of Wanted.
	First []int
	// Shuffle puts the other passes in random order; nil leaves them in that of Wanted.
	Shuffle func(n int, swap func(i, j int))
	// Counted is asked before each pass but the first: how many rounds of each thing count so far.
	// Those that do not are taken again, until a thing has had twice its rounds. nil means that all
	// count.
	Counted func() []int

	// Until is when all of it ends, if it is not zero. Each round has its share of the time that is
	// left, of at least Least and at most Most.
	Until       time.Time
	Least, Most time.Duration

	// Begin, if not nil, is called before each round.
	Begin func(thing int, p Progress)
}

// Progress is how far a Schedule is.
type Progress struct {
	Done  int // rounds that have been measured, without those that were taken again
	Total int
	Left  time.Duration // until Until
}

var (
	// ErrTime says that less than Least is left, and that things lack rounds.
	ErrTime = errors.New("no time is left")
	// ErrSkip is what a round returns whose thing is given up. The others go on.
	ErrSkip = errors.New("given up")
)

// Each returns Wanted of things that are measured equally often.
func Each(things, rounds int) []int {
	wanted := make([]int, things)
	for i := range wanted {
		wanted[i] = rounds
	}
	return wanted
}

// Run has rounds taken, each within about its share of the time, which is zero without Until. An
// error other than ErrSkip ends it.
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

// wanting are the things to have another round.
func (r *run) wanting() (things []int) {
	for i, n := range r.Wanted {
		if r.lacks(i) > 0 && r.taken[i] < 2*n {
			things = append(things, i)
		}
	}
	return things
}

// lacks is how many rounds of a thing are still to be measured.
func (r *run) lacks(i int) int {
	if r.skipped[i] {
		return 0
	}
	return max(0, r.Wanted[i]-r.counted[i]) // more of them may count in the end than in between
}

// missing is how many are of all things.
func (r *run) missing() (rounds int) {
	for i := range r.Wanted {
		rounds += r.lacks(i)
	}
	return rounds
}

// begin tells that a round begins.
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
