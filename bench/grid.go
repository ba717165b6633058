package bench

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Grid has the points to measure, and the points that are impossible, with reasons.
type Grid struct {
	Name    string
	Points  []Point
	LeftOut []LeftOut
}

// Paths returns all paths.
func Paths() []Path { return []Path{Loopback, IWARP, IWARPCRC, IWARPMarkers, RoCE, TCP} }

// usualPaths returns the paths of every server. RoCE is not among them, because it needs a UDP port
// that another program may use.
func usualPaths() []Path { return []Path{Loopback, IWARP, IWARPCRC, IWARPMarkers, TCP} }

// Ways returns all ways.
func Ways() []Way {
	return []Way{InlineCall, Padded, ReadChunk, LongCall, InlineReply, WriteChunk, ReplyChunk}
}

// Axes are the dimensions of a grid, which has all combinations.
type Axes struct {
	Paths    []Path
	Ways     []Way
	Sizes    []int // of payloads in bytes
	InFlight []int // calls on each connection
	Conns    []int // connections
}

// FullAxes returns the axes of [FullGrid].
func FullAxes() Axes {
	const kib, mib = 1 << 10, 1 << 20
	return Axes{
		Paths:    usualPaths(),
		Ways:     Ways(),
		Sizes:    []int{256, 1 * kib, 4 * kib, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 256 * kib, 1 * mib, 4 * mib},
		InFlight: []int{1, 8, 64},
		Conns:    []int{1, 4, 64},
	}
}

// FullGrid returns all combinations except RoCE: some 2,000 points.
func FullGrid() Grid { return FullAxes().Grid("full") }

// Grid returns a grid with all combinations. Ways that TCP lacks are not among its points.
func (a Axes) Grid(name string) Grid {
	g := Grid{Name: name}
	for _, path := range a.Paths {
		for _, way := range a.Ways {
			for _, inFlight := range a.InFlight {
				for _, conns := range a.Conns {
					for _, size := range a.Sizes {
						g.add(Point{path, way, size, inFlight, conns})
					}
				}
			}
		}
	}
	return g
}

// Over reports whether g has a point on the path p.
func (g Grid) Over(p Path) bool {
	return slices.ContainsFunc(g.Points, func(x Point) bool { return x.Path == p })
}

// add adds points, or leaves out those that are impossible.
func (g *Grid) add(points ...Point) {
	for _, p := range points {
		switch why := p.impossible(); why {
		case "":
			g.Points = append(g.Points, p)
		case noSuchWay:
		default:
			g.LeftOut = leaveOut(g.LeftOut, why, p)
		}
	}
}

// leaveOut adds points to list under a reason.
func leaveOut(list []LeftOut, why string, points ...Point) []LeftOut {
	if len(points) == 0 {
		return list
	}
	i := slices.IndexFunc(list, func(l LeftOut) bool { return l.Why == why })
	if i < 0 {
		i, list = len(list), append(list, LeftOut{Why: why})
	}
	list[i].Points = append(list[i].Points, points...)
	return list
}

const (
	// maxInline is the largest payload in bytes that goes inline; the rest is for the headers of
	// RPC and RDMA.
	maxInline = rpcrdma.MaxInline - 128
	// minLong is the smallest payload in bytes whose message never fits in the smallest inline
	// size.
	minLong = rpcrdma.DefaultInline

	// minPadded is the smallest payload in bytes that is padded. The client pads data by its
	// length, and shorter data might be the credential.
	minPadded = 256

	noSuchWay = "there are no chunks over TCP"
)

// impossible returns why a point cannot be measured, or "".
func (p Point) impossible() string {
	switch {
	case p.Path == TCP && (p.Way == InlineCall || p.Way == InlineReply):
		return ""
	case p.Path == TCP:
		return noSuchWay
	case p.Way == Padded && p.Size < minPadded:
		return fmt.Sprintf("payload of less than %d bytes is not padded", minPadded)
	case p.Way == Padded && p.Size > rpcrdma.MaxInline-program.Page:
		return fmt.Sprintf("padding to %d bytes leaves room for %d of payload in a Send",
			program.Page, rpcrdma.MaxInline-program.Page)
	case p.Way.Inline() && p.Size > maxInline:
		return fmt.Sprintf("a Send is at most %d bytes: payload of up to %d fits inline", rpcrdma.MaxInline, maxInline)
	case (p.Way == LongCall || p.Way == ReplyChunk) && p.Size < minLong:
		return fmt.Sprintf("the smallest inline size is %d bytes: a message that fits in it never goes as a "+
			"long message",
			rpcrdma.DefaultInline)
	}
	return ""
}

// memory returns the bytes of payload of all calls under way, at both ends.
func (p Point) memory() int64 { return 2 * int64(p.Size) * int64(p.InFlight) * int64(p.Conns) }

// least returns the memory of the point that needs least.
func (g Grid) least() int64 {
	var all []int64
	for _, p := range g.Points {
		all = append(all, p.memory())
	}
	return slices.Min(all)
}

// within leaves out the points that need more memory.
func (g Grid) within(memory int64) Grid {
	small := Grid{Name: g.Name, LeftOut: slices.Clone(g.LeftOut)}
	var large []Point
	for _, p := range g.Points {
		if p.memory() > memory {
			large = append(large, p)
		} else {
			small.Points = append(small.Points, p)
		}
	}
	small.LeftOut = leaveOut(small.LeftOut,
		fmt.Sprintf("the payloads under way would take more than %d MiB of memory", memory>>20), large...)
	return small
}
