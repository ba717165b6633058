package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// points returns n points in the order in which they are measured.
func points(n int) (all []Point) {
	for i := range n {
		all = append(all, Point{IWARP, ReadChunk, 1024, 1, 1})
		all[i].Path = Path(fmt.Sprint("path ", i)) // does not influence the order
	}
	return all
}

// swept is the outcome of a sweep.
type swept struct {
	measured, leftOut int
	why               string
	took              time.Duration
	progress          []Progress
}

// sweepFor sweeps n points within a limit. take decides how long a point takes.
func sweepFor(t *testing.T, ctx context.Context, n int, limit time.Duration, take func(i int, share time.Duration) (time.Duration, error)) (s swept, err error) {
	begin := time.Now()
	o := Options{Time: limit, MinPerRound: 100 * time.Millisecond, MaxPerRound: limit, Rounds: 1}.withDefaults()
	o.Progress = func(p Progress) { s.progress = append(s.progress, p) }
	g := Grid{Points: points(n)}
	var r Result
	i := 0
	err = o.sweep(ctx, g, begin.Add(limit), &r, func(_ context.Context, p Point, share time.Duration) (Measurement, error) {
		d, err := take(i, share)
		i++
		time.Sleep(d)
		return Measurement{Point: p, Rounds: []Round{{}}}, err
	})
	s.took, s.measured = time.Since(begin), len(r.Measured)
	for _, l := range r.LeftOut {
		s.leftOut += len(l.Points)
		s.why = l.Why
	}
	if s.measured+s.leftOut != n {
		t.Errorf("%d points are measured and %d left out, want %d in all", s.measured, s.leftOut, n)
	}
	var got []Point
	for _, m := range r.Measured {
		got = append(got, m.Point)
	}
	if !slices.IsSortedFunc(got, func(a, b Point) int { return slices.Index(g.Points, a) - slices.Index(g.Points, b) }) {
		t.Errorf("they are not in the order of the grid: %v", got)
	}
	return s, err
}

// asTold takes exactly its share of the time.
func asTold(_ int, share time.Duration) (time.Duration, error) { return share, nil }

// TestSweepTime: points share the time. Points for which it does not suffice are left out.
func TestSweepTime(t *testing.T) {
	for _, tt := range []struct {
		name     string
		n        int
		limit    time.Duration
		take     func(i int, share time.Duration) (time.Duration, error)
		measured int
		took     time.Duration
	}{
		{"enough", 10, 10 * time.Second, asTold, 10, 10 * time.Second},
		{"just enough", 10, time.Second, asTold, 10, time.Second},
		{"half of it", 10, 500 * time.Millisecond, asTold, 5, 500 * time.Millisecond},
		{"none", 10, 99 * time.Millisecond, asTold, 0, 0},
		{"the first takes half", 10, 2 * time.Second, func(i int, share time.Duration) (time.Duration, error) {
			if i == 0 {
				return time.Second, nil
			}
			return share, nil
		}, 10, 2 * time.Second},
		{"all take twice as long", 10, 2 * time.Second, func(_ int, share time.Duration) (time.Duration, error) { return 2 * share, nil }, 7, 2 * time.Second},
		{"they take nothing", 10, time.Second, func(int, time.Duration) (time.Duration, error) { return 0, nil }, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sweepFor(t, t.Context(), tt.n, tt.limit, tt.take)
				if err != nil || s.measured != tt.measured {
					t.Errorf("got %d points, error %v, want %d", s.measured, err, tt.measured)
				}
				if s.took > tt.took+tt.limit/10 || s.took < tt.took-tt.limit/10 {
					t.Errorf("it took %v, want %v", s.took, tt.took)
				}
				if s.leftOut > 0 && s.why != fmt.Sprintf("no time was left of %v", tt.limit.Round(time.Second)) {
					t.Errorf("got %q", s.why)
				}
				for i, p := range s.progress {
					if p.Done != i || p.Total != tt.n || p.Left > tt.limit || i > 0 && p.Left > s.progress[i-1].Left {
						t.Errorf("progress %d: %+v", i, p)
					}
				}
			})
		})
	}
}

// TestSweepFails: points that fail are left out, and the others are measured. A lost server or an
// interrupt ends the sweep.
func TestSweepFails(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	for _, tt := range []struct {
		name     string
		take     func(i int, share time.Duration) (time.Duration, error)
		measured int
		err      error
		why      string
	}{
		{"one fails", func(i int, _ time.Duration) (time.Duration, error) {
			if i == 2 {
				return 0, broken
			}
			return 0, nil
		}, 4, broken, "failed: path 2, read chunk, 1024 bytes, 1 in flight, 1 connections: broken"},
		{"the server is lost", func(i int, _ time.Duration) (time.Duration, error) {
			if i == 2 {
				return 0, &LostError{Err: broken}
			}
			return 0, nil
		}, 2, broken, "the server was lost"},
		{"interrupted", func(i int, _ time.Duration) (time.Duration, error) {
			if i == 2 {
				cancel()
				return 0, broken // because of that
			}
			return 0, nil
		}, 2, context.Canceled, "interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sweepFor(t, ctx, 5, time.Hour, tt.take)
			if !errors.Is(err, tt.err) || s.measured != tt.measured || s.why != tt.why {
				t.Errorf("got %d points, error %v, the rest %q; want %d, %v, %q", s.measured, err, s.why, tt.measured, tt.err, tt.why)
			}
		})
	}
}

// TestFigures: the medians of the yardsticks, by size.
func TestFigures(t *testing.T) {
	y := make(yardsticks)
	for _, f := range []Figure{{4, 30}, {1, 5}, {4, 10}, {4, 20}, {2, 1}, {2, 2}} {
		y.add(f.Size, f.Throughput)
	}
	if diff := cmp.Diff([]Figure{{1, 5}, {2, 1.5}, {4, 20}}, y.figures()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecorder: samples of several workers are merged, and overlong samples are not lost.
func TestRecorder(t *testing.T) {
	r := newRecorder()
	for w := range 3 {
		s := samples{to: r}
		for i := range 1000 {
			s.add(time.Duration(w*1000+i+1) * time.Microsecond)
		}
		s.flush()
	}
	got := r.latency()
	for _, tt := range []struct {
		name      string
		got, want time.Duration
	}{{"p50", got.P50, 1500 * time.Microsecond}, {"p99", got.P99, 2970 * time.Microsecond}, {"p99.9", got.P999, 2997 * time.Microsecond}, {"max", got.Max, 3 * time.Millisecond}} {
		if tt.got < tt.want-tt.want/500 || tt.got > tt.want+tt.want/500 {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	r.record(time.Hour)
	r.record(-1)
	if got := r.count(); got != 3002 {
		t.Errorf("got %d, want 3002", got)
	}
	if !strings.HasPrefix(r.latency().Max.String(), "2m0") {
		t.Errorf("got a longest of %v, want two minutes", r.latency().Max)
	}
}
