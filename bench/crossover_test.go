package bench

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// at returns a measured point with the given throughput in MB/s.
func at(way Way, size int, mbps float64) Measurement {
	m := Measurement{Point: Point{Path: IWARP, Way: way, Size: size, InFlight: 1, Conns: 1}, Calls: 1 << 20}
	m.Elapsed = time.Duration(float64(m.Calls) * float64(size) / mbps * 1e3)
	return inRounds(m)
}

// inRounds gives m several equal rounds.
func inRounds(m Measurement) Measurement {
	m.Rounds = nil
	for range leastRounds {
		r := Round{Calls: m.Calls / leastRounds, Elapsed: m.Elapsed / leastRounds}
		if m.Ratio > 0 {
			r.Yardstick = m.Throughput() / m.Ratio
		}
		m.Rounds = append(m.Rounds, r)
	}
	return m
}

// pairs returns points for both ways. Inline has 1000 MB/s, the chunk a multiple of that.
func pairs(inline, chunk Way, sizes []int, ratios ...float64) []Measurement {
	var all []Measurement
	for i, x := range ratios {
		all = append(all, at(inline, sizes[i], 1000), at(chunk, sizes[i], 1000*x))
	}
	return all
}

var fours = []int{256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}

// ofBand ignores the fields that TestDecisions checks.
var ofBand = cmpopts.IgnoreFields(Crossover{}, "Least", "InlineTo", "EitherTo", "ChunkFrom", "Within", "Except", "SizeRange", "Leads")

func TestCrossover(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ratios []float64 // chunk to inline at 256 B, 1 KiB, 4 KiB, ...
		want   Crossover
	}{
		{"one crossing", []float64{.5, .8, 1.25, 2}, Crossover{Size: 2 << 10, Gain: 2}},
		{"on a size", []float64{.5, 1, 2, 4}, Crossover{Size: 1 << 10, Gain: 4}},
		{"nearer to the closer side", []float64{.5, .99, 1.5}, Crossover{Size: 1059, Gain: 1.5}},
		{"none", []float64{.5, .6, .9, .95}, Crossover{Gain: .95}},
		{"always", []float64{1.1, 1.2, 1.3}, Crossover{Always: true, Gain: 1.3}},
		{"equal counts for inline", []float64{1, 1, 1}, Crossover{Gain: 1}},
		{"noise after the crossing", []float64{.5, .8, 1.25, .98, 1.5}, Crossover{Size: 2 << 10, Gain: 1.5}},
		{"noise before the crossing", []float64{.5, 1.02, .8, 1.25, 2}, Crossover{Size: 8 << 10, Gain: 2}},
		{"one spoiled size", []float64{.5, .8, 1.25, 1.5, .1, 1.6}, Crossover{Size: 2 << 10, Gain: 1.6}},
		{"the chunk stays ahead after the last", []float64{.5, 1.2, .7, 1.25, 2}, Crossover{Size: 9610, Gain: 2}},
		{"noise at the end of none", []float64{.5, .6, .7, .8, 1.01}, Crossover{Size: 61770, Gain: 1.01}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Result{Measured: pairs(InlineCall, ReadChunk, fours, tt.ratios...)}
			Conclude(&r)
			tt.want.Path, tt.want.Inline, tt.want.Chunk, tt.want.InFlight, tt.want.Conns = IWARP, InlineCall, ReadChunk, 1, 1
			tt.want.Up = fours[len(tt.ratios)-1]
			if diff := cmp.Diff([]Crossover{tt.want}, r.Crossovers, cmpopts.EquateApprox(1e-3, 0), ofBand); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCrossoverByRatio: a temporary slowdown of the machine does not show if the yardstick was
// measured at the same time.
func TestCrossoverByRatio(t *testing.T) {
	m := pairs(InlineReply, WriteChunk, fours, .5, .8, 1.25, 2)
	for i := range m {
		m[i].Ratio = m[i].Throughput() / 1e10
		m[i] = inRounds(m[i])
	}
	for i := range m[:5] { // includes inline at 4 KiB, but not the chunk
		for j := range m[i].Rounds {
			m[i].Rounds[j].Elapsed *= 2
			m[i].Rounds[j].Yardstick /= 2
		}
	}
	r := Result{Measured: m}
	Conclude(&r)
	if len(r.Crossovers) != 1 || r.Crossovers[0].Size != 2<<10 {
		t.Errorf("got %+v, want one at 2048", r.Crossovers)
	}
}

// TestCrossoverGroups: points are compared only within the same path, calls in flight, connections
// and direction.
func TestCrossoverGroups(t *testing.T) {
	var m []Measurement
	add := func(ps []Measurement, path Path, inFlight, conns int) {
		for _, p := range ps {
			p.Path, p.InFlight, p.Conns = path, inFlight, conns
			m = append(m, p)
		}
	}
	add(pairs(InlineReply, WriteChunk, fours, .5, 2), IWARPCRC, 8, 4)
	add(pairs(InlineCall, ReadChunk, fours, .5, 2), IWARP, 1, 1)
	add(pairs(InlineCall, ReadChunk, fours, 2, 2), IWARP, 8, 1)
	add(pairs(InlineCall, LongCall, fours, .5, 2), Loopback, 1, 1)      // no contest
	add(pairs(InlineCall, InlineReply, fours, .5, 2), TCP, 1, 1)        // nor this
	add(pairs(InlineCall, ReadChunk, fours, .5), IWARP, 8, 4)           // one size
	add([]Measurement{at(InlineCall, 512, 1)}, IWARPMarkers, 1, 1)      // nothing
	add([]Measurement{at(ReadChunk, 1024, 1)}, IWARPMarkers, 1, 1)      // in common
	add([]Measurement{{Point: Point{Way: ReadChunk}}, {}}, IWARP, 1, 1) // took no time

	r := Result{Measured: m}
	Conclude(&r)
	want := []Crossover{
		{Path: IWARPCRC, Inline: InlineReply, Chunk: WriteChunk, InFlight: 8, Conns: 4, Size: 512, Up: 1024, Gain: 2},
		{Path: IWARP, Inline: InlineCall, Chunk: ReadChunk, InFlight: 1, Conns: 1, Size: 512, Up: 1024, Gain: 2},
		{Path: IWARP, Inline: InlineCall, Chunk: ReadChunk, InFlight: 8, Conns: 1, Always: true, Up: 1024, Gain: 2},
	}
	if diff := cmp.Diff(want, r.Crossovers, cmpopts.EquateApprox(1e-6, 0), ofBand); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCrossoverAnalytic compares with the analytic crossing of curves of the form t = a + n/b.
func TestCrossoverAnalytic(t *testing.T) {
	sizes := []int{256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}
	rapid.Check(t, func(t *rapid.T) {
		// Inline has the lower fixed cost and the higher cost per byte. They cross at n.
		n := float64(rapid.IntRange(sizes[0], sizes[len(sizes)-1]).Draw(t, "crossing"))
		a := rapid.Float64Range(1, 100).Draw(t, "us of an inline call")
		more := rapid.Float64Range(.2, 3).Draw(t, "more of a chunk") * a
		perByte := rapid.Float64Range(0, .001).Draw(t, "us a byte by chunk")
		inline := func(size float64) float64 { return a + size*(perByte+more/n) }
		chunk := func(size float64) float64 { return a + more + size*perByte }

		var m []Measurement
		for _, size := range sizes {
			s := float64(size)
			m = append(m, at(InlineCall, size, s/inline(s)), at(ReadChunk, size, s/chunk(s)))
		}
		r := Result{Measured: m}
		Conclude(&r)
		got := r.Crossovers[0]
		if got.Size == 0 {
			// Close to the first and the last size, either result is accepted.
			if n > 1.01*float64(sizes[0]) && n < .99*float64(sizes[len(sizes)-1]) {
				t.Fatalf("got always=%v, want a crossing at %.0f", got.Always, n)
			}
			return
		}
		if off := math.Abs(math.Log(float64(got.Size) / n)); off > math.Log(1.1) {
			t.Errorf("got a crossing at %d, want one at %.0f", got.Size, n)
		}
	})
}
