package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// advice is the recommendation in a sentence.
func advice(a *bench.Recommendation) string {
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
	switch {
	case len(parts) == 0 && a.Path == "":
		return "No recommendation: this run does not tell."
	case len(parts) == 0:
		return fmt.Sprintf("For %s no recommendation: this run does not tell.", a.Path)
	}
	return fmt.Sprintf("For %s: %s.", a.Path, strings.Join(parts, ", "))
}

// verdict sums up the crossovers of one path and direction, over calls in flight and connections.
type verdict struct {
	Path  bench.Path
	Chunk bench.Way
	all   []bench.Crossover // by size: always, then sizes, then none
}

// verdicts are in the order of the crossovers.
func verdicts(r *bench.Result) []*verdict {
	var all []*verdict
	for _, x := range r.Crossovers {
		i := slices.IndexFunc(all, func(v *verdict) bool { return v.Path == x.Path && v.Chunk == x.Chunk })
		if i < 0 {
			i = len(all)
			all = append(all, &verdict{Path: x.Path, Chunk: x.Chunk})
		}
		all[i].all = append(all[i].all, x)
	}
	for _, v := range all {
		slices.SortStableFunc(v.all, func(a, b bench.Crossover) int {
			return cmp.Or(cmp.Compare(from(&a), from(&b)), cmp.Compare(a.Up, b.Up))
		})
	}
	return all
}

// from is the size from which on the chunk is faster.
func from(x *bench.Crossover) int {
	switch {
	case x.Size > 0:
		return x.Size
	case x.Always:
		return 0
	}
	return math.MaxInt
}

// Middle is the median; of two, that with the larger size.
func (v *verdict) Middle() *bench.Crossover { return &v.all[len(v.all)/2] }

// Direction is that of the payload.
func (v *verdict) Direction() string {
	if v.Chunk.Reply() {
		return "replies"
	}
	return "calls"
}

func (v *verdict) what() string {
	return fmt.Sprintf("%s, %s, %s", v.Path, v.Direction(), v.Chunk)
}

// Where says from where on the chunk is faster.
func (v *verdict) Where() string {
	s := where(v.Middle())
	if first, last := &v.all[0], &v.all[len(v.all)-1]; where(first) != where(last) {
		s += fmt.Sprintf(" (%s to %s)", where(first), where(last))
	}
	return s
}

func where(x *bench.Crossover) string {
	switch {
	case x.Size > 0:
		return bench.FormatSize(x.Size)
	case x.Always:
		return "all sizes"
	}
	return "beyond " + bench.FormatSize(x.Up)
}

// Gain says which is faster where inline ends, and by how much.
func (v *verdict) Gain() string {
	m := v.Middle()
	who, times := "chunk ", m.Gain
	if m.Gain < 1 {
		who, times = "inline ", 1/m.Gain
	}
	return who + number(times) + " times as fast at " + bench.FormatSize(m.Up)
}
