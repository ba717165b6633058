package report

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// noisy says why there is no recommendation although the grid of this name was measured: other
// rounds could have led to another one.
func noisy(grid string) string {
	more := "--full"
	if grid == bench.FullGrid().Name {
		more = "more --time"
	}
	return "because the rounds are too noisy: rerun with " + more + ", or on a quieter machine"
}

// advice says the recommendation in a sentence.
func advice(r *bench.Result) string {
	a := &r.Advice
	var parts []string
	switch {
	case a.InlineSend > 0 && a.InlineSend == a.InlineRecv:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineSend)+" both ways")
	case a.InlineSend > 0 && a.InlineRecv > 0:
		parts = append(parts, fmt.Sprintf("inline threshold %s for calls and %s for replies",
			bench.FormatSize(a.InlineSend), bench.FormatSize(a.InlineRecv)))
	case a.InlineSend > 0:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineSend)+" for calls")
	case a.InlineRecv > 0:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineRecv)+" for replies")
	}
	if a.MinChunk > 0 {
		parts = append(parts, "minimum chunk size "+bench.FormatSize(a.MinChunk))
	}
	if len(a.Unsure) > 0 {
		none := "no recommendation"
		if len(parts) > 0 {
			none = "none for " + strings.Join(a.Unsure, " and ")
		}
		parts = append(parts, none, noisy(r.Grid))
	}
	switch {
	case len(parts) == 0 && a.Path == "":
		return "No recommendation, because too little was measured."
	case len(parts) == 0:
		return fmt.Sprintf("For %s: no recommendation, because too little was measured.", a.Path)
	}
	return fmt.Sprintf("For %s: %s.", a.Path, strings.Join(parts, ", "))
}

// what names the choice that d is about.
func what(d *bench.Decision) string {
	return fmt.Sprintf("%s, %s, %s", d.Path, d.Direction(), d.Chunk)
}

// brief says Decision.Where in a few words.
func brief(d *bench.Decision) string {
	if d.Unsure() {
		return "unsure"
	}
	if !d.Agree() {
		return "depends on calls and connections"
	}
	var s string
	switch x := &d.Crossovers[0]; {
	case x.ChunkFrom > 0:
		low, high := x.ChunkFrom, x.ChunkFrom
		for i := range d.Crossovers {
			low, high = min(low, d.Crossovers[i].ChunkFrom), max(high, d.Crossovers[i].ChunkFrom)
		}
		s = "chunks from " + span(low, high)
	case x.InlineTo > 0:
		s = "inline up to " + bench.FormatSize(x.InlineTo)
	case d.Noisy():
		s = "no clear lead up to " + bench.FormatSize(x.EitherTo)
	default:
		s = "either up to " + bench.FormatSize(x.EitherTo)
	}
	if except := d.Crossovers[0].Except; len(except) > 0 {
		s += fmt.Sprintf(", except %s", count(len(except), "size"))
	}
	return s
}

// markOf returns the size at which chunks become faster, if there is one.
func markOf(x *bench.Crossover) (marks []mark) {
	if x.ChunkFrom > x.Least && !x.Unsure {
		marks = append(marks, mark{float64(x.ChunkFrom), "chunks from " + bench.FormatSize(x.ChunkFrom)})
	}
	return marks
}
