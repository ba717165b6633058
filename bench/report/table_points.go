package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// gap separates columns.
const gap = "  "

// writePoints writes a line for each point. Each path and way has a title, and each new path the
// names of the columns.
func writePoints(w io.Writer, r *bench.Result) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.name)
		if c.group != "" && !grouped(i) {
			widths[i] = max(widths[i], len(c.group))
		}
		for j := range r.Measured {
			widths[i] = max(widths[i], len(c.cell(&r.Measured[j])))
		}
	}
	line := func(cell func(i int, c *column) string) {
		var b strings.Builder
		for i := range columns {
			fmt.Fprintf(&b, "%s%*s", gap, widths[i], cell(i, &columns[i]))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}

	var path bench.Path
	for i, s := range sections(r) {
		if i == 0 || s.path != path {
			path = s.path
			fmt.Fprintln(w)
			writeGroups(w, widths)
			line(func(_ int, c *column) string { return c.name })
		}
		fmt.Fprintln(w, s.title())
		for _, m := range s.measured {
			line(func(_ int, c *column) string { return c.cell(m) })
		}
	}
}

// grouped reports whether column i has a neighbour in its group.
func grouped(i int) bool {
	return i > 0 && columns[i-1].group == columns[i].group ||
		i+1 < len(columns) && columns[i+1].group == columns[i].group
}

// writeGroups writes the titles of groups, centred over their columns.
func writeGroups(w io.Writer, widths []int) {
	var b strings.Builder
	for i := 0; i < len(columns); {
		width, from := 0, i
		for ; i < len(columns) && (i == from || columns[i].group == columns[from].group); i++ {
			width += len(gap) + widths[i]
			if columns[from].group == "" {
				i++
				break
			}
		}
		title := columns[from].group
		if i-from > 1 {
			title += strings.Repeat(" ", max(0, (width-len(gap)-len(title))/2))
		}
		fmt.Fprintf(&b, "%*s", width, title)
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}
