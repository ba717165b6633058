package bench

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// of returns a measurement of one round, as Run would take it.
func of(size int, calls int64, us, yardstick, others float64) Measurement {
	m := Measurement{
		Point: Point{IWARP, ReadChunk, size, 1, 1}, Calls: calls, Elapsed: time.Duration(us * float64(calls) * 1e3),
		Latency: Latency{P50: time.Duration(us) * time.Microsecond, Max: time.Duration(3*us) * time.Microsecond},
		Client:  Usage{CPU: time.Duration(calls), Heap: uint64(calls)}, WireBytes: 10 * calls,
	}
	m.Rounds = []Round{{m.Calls, m.Elapsed, rounds.Mark{Yardstick: yardstick, Others: others}}}
	if yardstick > 0 {
		m.Ratio = m.Throughput() / yardstick
	}
	return m
}

// TestJudged: a round is judged against rounds with the same yardstick, which have the same size
// and either all use a wire or all do not. Undisturbed rounds are counted.
func TestJudged(t *testing.T) {
	local := of(1024, 1, 1, 1000, 0)
	local.Path = Loopback
	taken := [][]Measurement{
		{of(1024, 1, 1, 100, 0), of(1024, 1, 1, 120, 0), of(1024, 1, 1, 300, 0)},
		{of(1024, 1, 1, 100, 0)},
		{of(4096, 1, 1, 1000, 0), of(4096, 1, 1, 1000, 1)},
		{local},
		nil,
	}
	if diff := cmp.Diff([]int{2, 1, 1, 1, 0}, judged(taken)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := taken[0][2].Rounds[0].Disturbed; got != rounds.YardstickOff {
		t.Errorf("got %q, want %q", got, rounds.YardstickOff)
	}
}

// TestMerged: sums and medians of the undisturbed rounds, or of all rounds if every one is
// disturbed.
func TestMerged(t *testing.T) {
	bad := of(1000, 1000, 100, 1e9, .5)
	bad.Rounds[0].Disturbed = rounds.OthersBusy
	for _, tt := range []struct {
		name   string
		rounds []Measurement
		want   Measurement
	}{
		{"three good ones, and one that does not count", []Measurement{of(1000, 1, 10, 1e8, 0), bad, of(1000, 2, 20, 1e8, 0), of(1000, 3, 40, 1e8, 0)}, Measurement{
			Calls: 6, Elapsed: 170 * time.Microsecond, Latency: Latency{P50: 20 * time.Microsecond, Max: 120 * time.Microsecond},
			Client: Usage{CPU: 6, Heap: 3}, WireBytes: 60, Ratio: .5,
		}},
		{"none is good", []Measurement{bad, bad}, Measurement{
			Calls: 2000, Elapsed: 200 * time.Millisecond, Latency: Latency{P50: 100 * time.Microsecond, Max: 300 * time.Microsecond},
			Client: Usage{CPU: 2000, Heap: 1000}, WireBytes: 20000, Ratio: .01, Disturbed: true,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Point = tt.rounds[0].Point
			for _, r := range tt.rounds {
				tt.want.Rounds = append(tt.want.Rounds, r.Rounds...)
			}
			if diff := cmp.Diff(tt.want, merged(tt.rounds), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlan: points that are compared with each other get most of the rounds. There are as many
// rounds as fit in the time.
func TestPlan(t *testing.T) {
	points := []Point{
		{IWARP, InlineCall, 1024, 8, 1}, {IWARP, ReadChunk, 1024, 8, 1}, // compared
		// Not compared.
		{IWARP, ReadChunk, 1024, 1, 1}, {IWARP, LongCall, 1024, 8, 1}, {TCP, InlineCall, 1024, 8, 1},
		{IWARP, InlineReply, 64, 8, 1}, {IWARP, WriteChunk, 64, 8, 1}, // compared
		{Loopback, InlineReply, 64, 8, 1}, {Loopback, WriteChunk, 64, 8, 1}, // not recommended for
	}
	for _, tt := range []struct {
		asked     int
		d         time.Duration
		say, rest int
	}{
		{40, time.Hour, 40, 8},
		{40, 7500 * time.Millisecond, 10, 2}, // 50 rounds of 150 ms
		{40, 7400 * time.Millisecond, 9, 1},
		{3, time.Hour, 3, 1},
		{40, time.Millisecond, 1, 1},
	} {
		o := Options{Rounds: tt.asked, MinPerRound: 100 * time.Millisecond}
		want := []int{tt.say, tt.say, tt.rest, tt.rest, tt.rest, tt.say, tt.say, tt.rest, tt.rest}
		if diff := cmp.Diff(want, o.plan(points, tt.d)); diff != "" {
			t.Errorf("%d rounds in %v (-want +got):\n%s", tt.asked, tt.d, diff)
		}
	}
}

// TestPlanGrids: the number of rounds of both grids in their usual times.
func TestPlanGrids(t *testing.T) {
	for _, tt := range []struct {
		grid       Grid
		d          time.Duration
		over       Path
		say, other int // rounds for inline, 4 KiB: over that path, over another
	}{
		{QuickGrid(), 34 * time.Second, IWARP, 11, 2},
		{FullGrid(), 597 * time.Second, IWARP, 9, 1},
		{FullGrid(), 30 * time.Minute, IWARP, 19, 3},
	} {
		o := Options{}.withDefaults()
		rounds := o.plan(tt.grid.Points, tt.d)
		for i, p := range tt.grid.Points {
			if p.Way != InlineReply || p.Size != 4<<10 || p.InFlight != 8 || p.Conns != 1 {
				continue
			}
			want := tt.other
			if p.Path == tt.over {
				want = tt.say
			}
			if rounds[i] != want {
				t.Errorf("%s in %v, %s: got %d rounds, want %d", tt.grid.Name, tt.d, p.Path, rounds[i], want)
			}
		}
	}
}

// TestSweepDisturbed: a disturbed round is repeated. A point that is always disturbed is given up.
func TestSweepDisturbed(t *testing.T) {
	for _, tt := range []struct {
		name         string
		disturbed    func(round int) bool
		rounds, good int // of each of two points
	}{
		{"none", func(int) bool { return false }, 4, 4},
		{"the second", func(n int) bool { return n == 1 }, 5, 4},
		{"all", func(int) bool { return true }, 8, 0},
	} {
		o := Options{Time: time.Hour, Rounds: 4}.withDefaults()
		g := Grid{Points: []Point{{IWARP, InlineCall, 1024, 8, 1}, {IWARP, ReadChunk, 1024, 8, 1}}}
		n := make(map[Point]int)
		var r Result
		err := o.sweep(t.Context(), g, time.Now().Add(o.Time), &r, func(_ context.Context, p Point, _ time.Duration) (Measurement, error) {
			m := of(p.Size, 1, 1, 100, 0)
			m.Point = p
			if tt.disturbed(n[p]) {
				m.Rounds[0].Others = 1
			}
			n[p]++
			return m, nil
		})
		if err != nil || len(r.Measured) != 2 {
			t.Fatalf("%s: got %d points, error %v", tt.name, len(r.Measured), err)
		}
		for _, m := range r.Measured {
			if len(m.Rounds) != tt.rounds || m.Disturbed != (tt.good == 0) || tt.good > 0 && len(m.counted()) != tt.good {
				t.Errorf("%s: got %d rounds, %d of which count, %t; want %d and %d",
					tt.name, len(m.Rounds), len(m.counted()), m.Disturbed, tt.rounds, tt.good)
			}
		}
	}
}
