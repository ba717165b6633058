package rounds

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// taken runs s and returns the thing of each round. took decides how long a round takes.
func taken(t *testing.T, s Schedule, took func(n int, share time.Duration) (time.Duration, error)) (things []int, err error) {
	t.Helper()
	err = s.Run(func(thing int, share time.Duration) error {
		d, err := took(len(things), share)
		things = append(things, thing)
		time.Sleep(d)
		return err
	})
	return things, err
}

// TestOrder: each pass has one round of each thing that still lacks rounds.
func TestOrder(t *testing.T) {
	reverse := func(n int, swap func(i, j int)) {
		for i := range n / 2 {
			swap(i, n-1-i)
		}
	}
	for _, tt := range []struct {
		name string
		s    Schedule
		want []int
	}{
		{"none", Schedule{}, nil},
		{"a pair", Schedule{Wanted: Each(2, 3)}, []int{0, 1, 0, 1, 0, 1}},
		{"unequally often", Schedule{Wanted: []int{1, 3, 2}}, []int{0, 1, 2, 1, 2, 1}},
		{"an order of its own", Schedule{Wanted: Each(3, 2), First: []int{1, 2, 0}}, []int{1, 2, 0, 0, 1, 2}},
		{"random", Schedule{Wanted: Each(3, 2), Shuffle: reverse}, []int{0, 1, 2, 2, 1, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := taken(t, tt.s, func(_ int, share time.Duration) (time.Duration, error) { return 0, nil })
			if !slices.Equal(got, tt.want) || err != nil {
				t.Errorf("got %v, error %v, want %v", got, err, tt.want)
			}
		})
	}
}

// TestTakenAgain: rounds that do not count are repeated, within the time limit and not for ever.
func TestTakenAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		good  func(n int) bool // of all rounds
		limit time.Duration
		want  int // rounds
		err   error
		took  time.Duration
	}{
		{"none", func(int) bool { return true }, 4 * time.Second, 8, nil, 4 * time.Second},
		{"one", func(n int) bool { return n != 3 }, 4 * time.Second, 9, nil, 4 * time.Second},
		{"all", func(int) bool { return false }, time.Hour, 16, nil, 16 * time.Minute},
		{"all, and the time is over", func(int) bool { return false }, 950 * time.Millisecond, 9, ErrTime, 950 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				counted := make([]int, 2)
				var at []Progress
				s := Schedule{
					Wanted: Each(2, 4), Counted: func() []int { return counted },
					Until: begin.Add(tt.limit), Least: 100 * time.Millisecond, Most: time.Minute,
					Begin: func(_ int, p Progress) { at = append(at, p) },
				}
				n := 0
				err := s.Run(func(thing int, share time.Duration) error {
					time.Sleep(share)
					if tt.good(n) {
						counted[thing]++
					}
					n++
					return nil
				})
				if n != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("got %d rounds, error %v, want %d, %v", n, err, tt.want, tt.err)
				}
				if took := time.Since(begin); took > tt.took || took < tt.took*9/10 {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				for i, p := range at {
					if p.Done != min(i, 8) || p.Total != 8 || p.Left > tt.limit || i > 0 && p.Left >= at[i-1].Left {
						t.Errorf("progress %d: %+v", i, p)
					}
				}
			})
		})
	}
}

// TestErrors: a thing that is skipped leaves the others. Any other error ends everything.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		err  error
		want []int
	}{{ErrSkip, []int{0, 1, 2, 0, 2}}, {broken, []int{0, 1}}} {
		got, err := taken(t, Schedule{Wanted: Each(3, 2)}, func(n int, _ time.Duration) (time.Duration, error) {
			if n == 1 {
				return 0, tt.err
			}
			return 0, nil
		})
		if !slices.Equal(got, tt.want) || tt.err == broken && !errors.Is(err, broken) || tt.err == ErrSkip && err != nil {
			t.Errorf("%v: got %v, error %v, want %v", tt.err, got, err, tt.want)
		}
	}
}

// TestJudge: a round is disturbed by CPU time of other processes, or by a yardstick that is off by
// a factor of two from its median.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		marks []Mark
		want  []Disturbance
	}{
		{"some", []Mark{
			{Yardstick: 100, Disturbed: YardstickOff}, // from an earlier judgement
			{Yardstick: 120, Others: .15}, {Yardstick: 201}, {Yardstick: 49}, {Yardstick: 100, Others: .16},
			{Yardstick: 199}, {Yardstick: 51},
		}, []Disturbance{"", "", YardstickOff, YardstickOff, OthersBusy, "", ""}},
		{"no yardstick once", []Mark{{Yardstick: 1000}, {}}, []Disturbance{"", YardstickOff}},
		{"no yardstick", []Mark{{}, {Others: 1}}, []Disturbance{"", OthersBusy}},
	} {
		var marks []*Mark
		for i := range tt.marks {
			marks = append(marks, &tt.marks[i])
		}
		Judge(marks)
		var got []Disturbance
		for _, m := range marks {
			got = append(got, m.Disturbed)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCalibrate: operations take a fixed time each, and longer until they are warm.
func TestCalibrate(t *testing.T) {
	for _, tt := range []struct {
		name      string
		unit      int
		each      time.Duration
		d         time.Duration
		low, high int
		runs      int // at the most
	}{
		{"fast", 1, time.Microsecond, 20 * time.Millisecond, 16000, 25000, 8},
		{"in batches", 16, time.Microsecond, time.Millisecond, 800, 1248, 8},
		// No more runs than it takes to warm up.
		{"longer than a round", 1, time.Second, time.Microsecond, 1, 1, 2},
		{"no time at all", 1, 0, time.Millisecond, 1, 1 << 62, calibrations},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := 0
			n, err := Calibrate(tt.unit, tt.d, func(n int) (time.Duration, error) {
				runs++
				return time.Duration(n) * tt.each * time.Duration(1+1/runs), nil
			})
			if n < tt.low || n > tt.high || n%tt.unit != 0 || runs > tt.runs || err != nil {
				t.Errorf("got %d after %d runs, error %v, want %d to %d", n, runs, err, tt.low, tt.high)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := Calibrate(1, 1, func(int) (time.Duration, error) { return 0, broken }); err != broken {
		t.Errorf("got error %v, want %v", err, broken)
	}
}
