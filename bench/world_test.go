package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
)

// world is a simulated machine with known crossovers and known noise.
type world struct {
	random *rand.Rand
	sizes  map[Way]float64 // crossover between inline and chunk, by the chunk's way
	more   float64         // factor of a chunk's cost before its first byte

	noise    float64 // standard deviation of the logarithm of an undisturbed round
	drift    float64 // of the machine's speed, which changes within seconds
	fickle   float64 // like noise, of the yardstick
	outliers float64 // share of rounds that are slow for no visible reason
	busy     float64 // share of rounds disturbed by other processes
	untold   bool    // the system does not report these

	speed float64 // logarithm of the machine's current speed
	last  time.Time
}

// newWorld returns a world with crossovers between 1 KiB and 40 KiB.
func newWorld(seed uint64, like world) *world {
	w := &like
	w.random = rand.New(rand.NewPCG(seed, 24))
	crossing := func() float64 { return 1024 * math.Exp(w.random.Float64()*math.Log(40)) }
	w.sizes = map[Way]float64{ReadChunk: crossing(), WriteChunk: crossing()}
	w.more = .5 + w.random.Float64()
	w.last = time.Now()
	return w
}

// measure takes a round as Run does. A call costs a fixed time, and a time for each byte.
func (w *world) measure(_ context.Context, p Point, share time.Duration) (Measurement, error) {
	time.Sleep(share)
	w.change()
	const fixed, perByte = 10e-6, 1e-10 // seconds
	n := float64(p.Size)
	took := fixed + n*perByte
	switch p.Way {
	case InlineCall, Padded:
		took += n * w.more * fixed / w.sizes[ReadChunk]
	case InlineReply:
		took += n * w.more * fixed / w.sizes[WriteChunk]
	default:
		took += w.more * fixed
	}
	raw := 1.4e10 * n / (n + 30000)

	// A slower machine slows down both, though not equally.
	raw *= math.Exp(w.speed + w.random.NormFloat64()*w.fickle)
	took *= math.Exp(-.8*w.speed + w.random.NormFloat64()*w.noise)
	r := Round{Mark: rounds.Mark{Yardstick: raw}}
	if w.random.Float64() < w.outliers {
		took *= 1.3 + 2*w.random.Float64()
	}
	if w.random.Float64() < w.busy {
		took *= 1 + 3*w.random.Float64()
		r.Yardstick /= 1 + 2*w.random.Float64()
		if !w.untold {
			r.Others = .3 + .6*w.random.Float64()
		}
	}
	r.Elapsed = share / 2
	r.Calls = max(1, int64(r.Elapsed.Seconds()/took))
	r.Elapsed = time.Duration(float64(r.Calls) * took * 1e9)
	m := Measurement{Point: p, Calls: r.Calls, Elapsed: r.Elapsed, Rounds: []Round{r}}
	m.Ratio = m.Throughput() / r.Yardstick
	return m, nil
}

// change lets the machine's speed drift. Earlier speeds stop mattering within a few seconds.
func (w *world) change() {
	keeps := math.Exp(-time.Since(w.last).Seconds() / 3)
	w.last = time.Now()
	w.speed = w.speed*keeps + w.random.NormFloat64()*w.drift*math.Sqrt(1-keeps*keeps)
}

// advice returns the recommendation of a quick run in this world.
func (w *world) advice(t *testing.T) Recommendation {
	t.Helper()
	o := Options{Grid: QuickGrid(), Time: 36 * time.Second, shuffle: w.random.Shuffle}.withDefaults()
	var r Result
	if err := o.sweep(t.Context(), o.Grid, time.Now().Add(o.Time), &r, w.measure); err != nil {
		t.Fatal(err)
	}
	Conclude(&r)
	return r.Advice
}

// worlds is the number of simulated machines of each kind.
var worlds = soak.Amount(40, 200)

// TestAdviceInKnownWorlds makes many quick runs on machines of each kind. The share of directions
// with a recommendation must be within the bounds. 9 in 10 recommendations must be right: at most
// one step of the grid from the true crossover.
func TestAdviceInKnownWorlds(t *testing.T) {
	for _, tt := range []struct {
		name        string
		like        world
		least, most float64 // share of directions with a recommendation
	}{
		{"quiet", world{noise: .03, drift: .1, fickle: .02, outliers: .01, busy: .02}, .8, 1},
		{"quiet, but for the yardstick", world{noise: .03, fickle: .3, outliers: .01, busy: .02}, .8, 1},
		{"unsteady", world{noise: .1, drift: .3, fickle: .05, outliers: .05, busy: .1}, .5, 1},
		{"noisy", world{noise: .4, drift: .5, fickle: .2, outliers: .2, busy: .2}, 0, 1},
		{"disturbed at times, untold", world{noise: .05, drift: .2, fickle: .03, busy: .3, untold: true}, 0, 1},
		{"busy half of the time", world{noise: .05, drift: .2, fickle: .03, busy: .5}, .5, 1},
		{"always busy", world{noise: .05, drift: .2, fickle: .03, busy: 1}, 0, 0},
		{"always busy, untold", world{noise: .05, drift: .2, fickle: .03, busy: 1, untold: true}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told, right := 0, 0
			for seed := range uint64(worlds) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(seed, tt.like)
					a := w.advice(t)
					for _, side := range []struct {
						inline int
						way    Way
					}{{a.InlineSend, ReadChunk}, {a.InlineRecv, WriteChunk}} {
						if side.inline == 0 {
							continue
						}
						told++
						is, want := side.inline-headerRoom, int(w.sizes[side.way])
						off := Range{min(is, want), max(is, want)}
						if off.oneStep([]int{256, 4 << 10, 16 << 10, 60 << 10}) {
							right++
						}
					}
				})
			}
			t.Logf("told %d of %d, right %d", told, 2*worlds, right)
			if share := float64(told) / float64(2*worlds); share < tt.least || share > tt.most {
				t.Errorf("told %d of %d, want %.0f to %.0f %%", told, 2*worlds, 100*tt.least, 100*tt.most)
			}
			if right*10 < told*9 {
				t.Errorf("%d of %d are right, want 9 in 10", right, told)
			}
		})
	}
}
