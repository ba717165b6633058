package report

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// untold are the words where rounds differ so much that other rounds could have come to something
// else. Grid is the one that was measured.
func untold(grid string) string {
	if grid == bench.FullGrid().Name {
		return "cannot be told on this machine now: rerun with more --time, or quiet it"
	}
	return "cannot be told on this machine now: rerun with --full, or quiet it"
}

// advice is the recommendation in a sentence.
func advice(r *bench.Result) string {
	a := &r.Advice
	var parts []string
	switch {
	case a.InlineSend > 0 && a.InlineSend == a.InlineRecv:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineSend)+" both ways")
	case a.InlineSend > 0 && a.InlineRecv > 0:
		parts = append(parts, fmt.Sprintf("inline threshold %s for calls and %s for replies", bench.FormatSize(a.InlineSend), bench.FormatSize(a.InlineRecv)))
	case a.InlineSend > 0:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineSend)+" for calls")
	case a.InlineRecv > 0:
		parts = append(parts, "inline threshold "+bench.FormatSize(a.InlineRecv)+" for replies")
	}
	if a.MinChunk > 0 {
		parts = append(parts, "minimum chunk size "+bench.FormatSize(a.MinChunk))
	}
	if len(a.Unsure) > 0 {
		words := untold(r.Grid)
		if len(parts) > 0 {
			words = "for " + strings.Join(a.Unsure, " and ") + " it " + words
		}
		parts = append(parts, words)
	}
	switch {
	case len(parts) == 0 && a.Path == "":
		return "No recommendation: this run does not tell."
	case len(parts) == 0:
		return fmt.Sprintf("For %s no recommendation: this run does not tell.", a.Path)
	}
	return fmt.Sprintf("For %s: %s.", a.Path, strings.Join(parts, ", "))
}

// what names the choice that d is about.
func what(d *bench.Decision) string {
	return fmt.Sprintf("%s, %s, %s", d.Path, d.Direction(), d.Chunk)
}

// brief is Decision.Where in a few words.
func brief(d *bench.Decision) string {
	if d.Unsure() {
		return "cannot be told now"
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
		s += fmt.Sprintf(", but for %s", count(len(except), "size"))
	}
	return s
}

// markOf is where x says that chunks become faster, if it does.
func markOf(x *bench.Crossover) (marks []mark) {
	if x.ChunkFrom > x.Least && !x.Unsure {
		marks = append(marks, mark{float64(x.ChunkFrom), "chunks from " + bench.FormatSize(x.ChunkFrom)})
	}
	return marks
}
