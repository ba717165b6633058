package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// of is a round of a point: a Measurement as Run takes it.
func of(size int, calls int64, us, yardstick, others float64) Measurement {
	m := Measurement{
		Point: Point{IWARP, ReadChunk, size, 1, 1}, Calls: calls, Elapsed: time.Duration(us * float64(calls) * 1e3),
		Latency: Latency{P50: time.Duration(us) * time.Microsecond, Max: time.Duration(3*us) * time.Microsecond},
		Client:  Usage{CPU: time.Duration(calls), Heap: uint64(calls)}, WireBytes: 10 * calls,
	}
	m.Rounds = []Round{{Calls: m.Calls, Elapsed: m.Elapsed, Yardstick: yardstick, Others: others}}
	if yardstick > 0 {
		m.Ratio = m.Throughput() / yardstick
	}
	return m
}

// TestJudge: what disturbs is others' CPU time, and a yardstick that is off by two from its median
// at that size.
func TestJudge(t *testing.T) {
	rounds := [][]Measurement{
		{of(1024, 1, 1, 100, 0), of(1024, 1, 1, 120, .15), of(1024, 1, 1, 201, 0), of(1024, 1, 1, 49, 0)},
		{of(1024, 1, 1, 100, .16), of(1024, 1, 1, 199, 0), of(1024, 1, 1, 51, 0)},
		{of(4096, 1, 1, 1000, 0), of(4096, 1, 1, 0, 0)}, // the usual yardstick of another size
	}
	rounds[0][0].Rounds[0].Disturbed = YardstickOff // as it had seemed before
	judge(rounds)
	var got [][]Disturbance
	for _, of := range rounds {
		var list []Disturbance
		for _, m := range of {
			list = append(list, m.Rounds[0].Disturbed)
		}
		got = append(got, list)
	}
	want := [][]Disturbance{{"", "", YardstickOff, YardstickOff}, {OthersBusy, "", ""}, {"", YardstickOff}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMerged: sums and medians of the rounds that were not disturbed; of all if there are no
// others.
func TestMerged(t *testing.T) {
	bad := of(1000, 1000, 100, 1e9, .5)
	bad.Rounds[0].Disturbed = OthersBusy
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

// TestPlan: points that are compared have most of the rounds, of which there are as many as there
// is time for.
func TestPlan(t *testing.T) {
	points := []Point{
		{IWARP, InlineCall, 1024, 8, 1}, {IWARP, ReadChunk, 1024, 8, 1}, // compared
		{IWARP, ReadChunk, 1024, 1, 1}, {IWARP, LongCall, 1024, 8, 1}, {TCP, InlineCall, 1024, 8, 1}, // not
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

// TestPlanGrids: how many rounds the two grids have in the time that they take.
func TestPlanGrids(t *testing.T) {
	for _, tt := range []struct {
		grid       Grid
		d          time.Duration
		over       Path
		say, other int // rounds inline, of 4 KiB, over that path and over another
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

// TestSweepDisturbed: a disturbed round is taken again, within the time; one that is disturbed
// always is given up.
func TestSweepDisturbed(t *testing.T) {
	for _, tt := range []struct {
		name      string
		disturbed func(round int) bool
		time      time.Duration
		rounds    int // that are measured of each of two points
		good      int
		took      time.Duration
	}{
		{"none", func(int) bool { return false }, 4 * time.Second, 4, 4, 4 * time.Second},
		{"the second", func(n int) bool { return n == 1 }, 4 * time.Second, 5, 4, 4 * time.Second},
		{"all", func(int) bool { return true }, time.Hour, 8, 0, 20 * time.Minute},
		{"all, and the time is over", func(int) bool { return true }, 1200 * time.Millisecond, 5, 0, 1200 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				o := Options{Time: tt.time, Rounds: 4}.withDefaults()
				g := Grid{Points: []Point{{IWARP, InlineCall, 1024, 8, 1}, {IWARP, ReadChunk, 1024, 8, 1}}}
				n := make(map[Point]int)
				var done []int
				o.Progress = func(p Progress) {
					done = append(done, p.Done)
					if p.Total != 8 || p.Points != 2 || p.Done > p.Total {
						t.Errorf("got progress %+v", p)
					}
				}
				var r Result
				err := o.sweep(t.Context(), g, begin.Add(tt.time), &r, func(_ context.Context, p Point, share time.Duration) (Measurement, error) {
					time.Sleep(min(share, 75*time.Second))
					m := of(p.Size, 1, 1, 100, 0)
					m.Point = p
					if tt.disturbed(n[p]) {
						m.Rounds[0].Others = 1
					}
					n[p]++
					return m, nil
				})
				if err != nil || len(r.Measured) != 2 {
					t.Fatalf("got %d points, error %v", len(r.Measured), err)
				}
				for _, m := range r.Measured {
					good := 0
					for _, of := range m.Rounds {
						if of.Disturbed == "" {
							good++
						}
					}
					if len(m.Rounds) != tt.rounds || good != tt.good || m.Disturbed != (good == 0) {
						t.Errorf("got %d rounds, %d of them good, %t; want %d and %d", len(m.Rounds), good, m.Disturbed, tt.rounds, tt.good)
					}
				}
				if took := time.Since(begin); took > tt.took || took < tt.took*9/10 {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				for i := range done[1:] {
					if done[i+1] < done[i] {
						t.Errorf("rounds done: %v", done)
					}
				}
			})
		})
	}
}
