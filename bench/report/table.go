package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// lineWidth is the most columns of a line of text; the table is about as wide.
const lineWidth = 140

// oneProcess explains the figures of loopback.
const oneProcess = "Loopback runs client and server in one process. The client's columns show what both use. " +
	"The goroutine that makes a call also serves it, so 8 in flight on one CPU are in effect about 1"

// WriteTable writes r as text for a terminal. It returns the first error of w.
func WriteTable(w io.Writer, r *bench.Result) error {
	b := bufio.NewWriter(w) // keeps the first error
	fmt.Fprintf(b, "inline against chunks: %s\n", about(r))
	for _, c := range conditions(r) {
		paragraph(b, "  ", c)
	}
	writeYardsticks(b, &r.Yardsticks)
	writePoints(b, r)
	writeLeftOut(b, r)
	writeDecisions(b, r)
	fmt.Fprintf(b, "\nrecommendation\n  %s\n", advice(r))
	for _, why := range r.Advice.Why {
		paragraph(b, "  ", why)
	}
	writeSettings(b, &r.Advice)
	return b.Flush()
}

// about says in one line what was run.
func about(r *bench.Result) string {
	var parts []string
	if r.Grid != "" {
		parts = append(parts, "grid "+r.Grid)
	}
	points := fmt.Sprintf("%d points", len(r.Measured))
	if r.Took > 0 {
		points += " in " + r.Took.Round(100*time.Millisecond).String()
	}
	parts = append(parts, points)
	if r.Server != "" {
		parts = append(parts, "server: "+r.Server)
	}
	if !r.Began.IsZero() {
		parts = append(parts, r.Began.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return strings.Join(parts, ", ")
}

// paragraph breaks a text into lines.
func paragraph(w io.Writer, indent, text string) {
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > lineWidth {
			fmt.Fprintln(w, line)
			line = indent + "  "
		}
		if strings.TrimSpace(line) != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

// writeAligned writes rows of cells, two spaces apart. The first column is aligned to the left, the
// others to the right.
func writeAligned(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&b, "  %-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", widths[i], cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

func writeLeftOut(w io.Writer, r *bench.Result) {
	total, reasons := leftOut(r)
	if total > 0 {
		fmt.Fprintf(w, "\nleft out: %d of %d points\n", total, total+len(r.Measured))
		for _, l := range reasons {
			paragraph(w, "  ", fmt.Sprintf("%d: %s (%s)", l.Points, l.Why, l.Which))
		}
	}
	if hasLoopback(r) {
		fmt.Fprintln(w)
		paragraph(w, "", oneProcess)
	}
}

func hasLoopback(r *bench.Result) bool {
	for i := range r.Measured {
		if r.Measured[i].Path == bench.Loopback {
			return true
		}
	}
	return false
}

// aboutBand says how ways are compared.
func aboutBand() string {
	return fmt.Sprintf("each round is corrected by the raw TCP (loopback: memory copy) right before it; "+
		"a difference of less than %.0f %% is noise, and either will do", 100*(bench.NoiseBand-1))
}

func writeDecisions(w io.Writer, r *bench.Result) {
	all := bench.Decisions(r.Crossovers)
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w)
	paragraph(w, "", "crossover: the payload size from which a chunk is faster than inline; "+aboutBand())
	for _, d := range all {
		paragraph(w, "  ", fmt.Sprintf("%s: %s; %s", what(d), d.Where(), d.Gain()))
	}
}

func writeSettings(w io.Writer, a *bench.Recommendation) {
	all := settings(a)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nsettings\n")
	for _, s := range all {
		fmt.Fprintf(w, "  %-12s%s\n", s.Where+":", s.Text)
	}
}
