package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrids: the named grids hold what their names promise. They have each point once, and every
// point can be measured.
func TestGrids(t *testing.T) {
	for _, tt := range []struct {
		grid        Grid
		least, most int
	}{{QuickGrid(), 38, 44}, {FullGrid(), 2000, 2500}} {
		if n := len(tt.grid.Points); n < tt.least || n > tt.most {
			t.Errorf("%s: got %d points, want %d to %d", tt.grid.Name, n, tt.least, tt.most)
		}
		seen := make(map[Point]bool)
		for _, p := range tt.grid.Points {
			if why := p.impossible(); why != "" {
				t.Errorf("%s: %v: %s", tt.grid.Name, p, why)
			}
			if seen[p] {
				t.Errorf("%s: %v is there twice", tt.grid.Name, p)
			}
			seen[p] = true
		}
		o := Options{Grid: tt.grid, Server: "host:1"}
		if err := o.check(); err != nil {
			t.Errorf("%s: %v", tt.grid.Name, err)
		}
	}
	for _, path := range usualPaths() {
		for _, g := range []Grid{QuickGrid(), FullGrid()} {
			if !slices.ContainsFunc(g.Points, func(p Point) bool { return p.Path == path }) {
				t.Errorf("%s: no point over %s", g.Name, path)
			}
		}
	}
	for _, way := range Ways() {
		for _, g := range []Grid{QuickGrid(), FullGrid()} {
			if !slices.ContainsFunc(g.Points, func(p Point) bool { return p.Way == way }) {
				t.Errorf("%s: no %s", g.Name, way)
			}
		}
	}
}

// TestLeftOut: points that cannot be measured, and the reasons given.
func TestLeftOut(t *testing.T) {
	axes := Axes{Paths: []Path{IWARP, TCP}, Ways: Ways(), Sizes: []int{256, 1024, 60 << 10, 62 << 10, 64 << 10, 1 << 20}, InFlight: []int{8}, Conns: []int{64}}
	g := axes.Grid("some").within(1 << 30)
	at := func(path Path, way Way, sizes ...int) (points []Point) {
		for _, size := range sizes {
			points = append(points, Point{path, way, size, 8, 64})
		}
		return points
	}
	all := axes.Sizes
	want := Grid{
		Name: "some",
		Points: slices.Concat(
			at(IWARP, InlineCall, all[:4]...), at(IWARP, Padded, all[:3]...), at(IWARP, ReadChunk, all...), at(IWARP, LongCall, all[1:]...),
			at(IWARP, InlineReply, all[:4]...), at(IWARP, WriteChunk, all...), at(IWARP, ReplyChunk, all[1:]...),
			at(TCP, InlineCall, all...), at(TCP, InlineReply, all...)),
		LeftOut: []LeftOut{
			{"a Send is at most 65536 bytes: payload of up to 65408 fits inline", append(at(IWARP, InlineCall, all[4:]...), at(IWARP, InlineReply, all[4:]...)...)},
			{"padding to 4096 bytes leaves room for 61440 of payload in a Send", at(IWARP, Padded, all[3:]...)},
			{"the smallest inline size is 1024 bytes: a message that fits in it never goes as a long message", append(at(IWARP, LongCall, 256), at(IWARP, ReplyChunk, 256)...)},
		},
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// 8 calls on 64 connections with 1 MiB at both ends take exactly 1 GiB.
	small := g.within(1<<30 - 1)
	last := small.LeftOut[len(small.LeftOut)-1]
	if !strings.Contains(last.Why, "more than 1023 MiB of memory") || len(last.Points) != 6 {
		t.Errorf("got %d points left out: %s", len(last.Points), last.Why)
	}
	if got, want := len(small.Points), len(g.Points)-6; got != want {
		t.Errorf("got %d points, want %d", got, want)
	}
}

// TestCheck: invalid options.
func TestCheck(t *testing.T) {
	point := Point{IWARP, ReadChunk, 4096, 1, 1}
	good := func() Options { return Options{Grid: Grid{Points: []Point{point}}, Server: "host:1"} }
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   string
	}{
		{"nothing", func(o *Options) { o.Grid = Grid{} }, "no points"},
		{"no server", func(o *Options) { o.Server = "" }, "neither a server nor a command"},
		{"CPUs of a server elsewhere", func(o *Options) { o.ServerCPUs = []int{0} }, "is running already"},
		{"time", func(o *Options) { o.Time = -1 }, "time -1ns"},
		{"no payload", func(o *Options) { o.Grid.Points[0].Size = 0 }, "payload of 0 bytes"},
		{"payload", func(o *Options) { o.Grid.Points[0].Size = 4<<20 + 1 }, "payload of 4194305 bytes"},
		{"no calls", func(o *Options) { o.Grid.Points[0].InFlight = 0 }, "0 calls in flight"},
		{"calls", func(o *Options) { o.Grid.Points[0].InFlight = MaxInFlight + 1 }, "257 calls in flight"},
		{"no connections", func(o *Options) { o.Grid.Points[0].Conns = 0 }, "0 connections"},
		{"connections", func(o *Options) { o.Grid.Points[0].Conns = MaxConns + 1 }, "513 connections"},
		{"chunks over TCP", func(o *Options) { o.Grid.Points[0].Path = TCP }, "no chunks over TCP"},
		{"all is well", func(*Options) {}, ""},
	} {
		o := good()
		tt.change(&o)
		got := ""
		if err := o.check(); err != nil {
			got = err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
