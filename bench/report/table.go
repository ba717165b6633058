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

// lineWidth is how long lines of text may be; the table is about as wide.
const lineWidth = 140

// oneProcess is said where loopback was measured.
const oneProcess = "loopback is client and server in one process: what both use is in the client's columns; a call is served in the goroutine that makes it, " +
	"on its CPU, so that 8 in flight on one CPU are about 1 in effect"

// WriteTable writes r for a terminal. Its error is that of w.
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

// about says in a line what has been run.
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

// writeAligned writes rows of cells to the right, two spaces apart; the first column is to the
// left.
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

// aboutBand says what is taken for faster.
func aboutBand() string {
	return fmt.Sprintf("corrected by raw TCP (loopback: memory copy) right before, as far as both vary together; less than %.0f %% is noise, and either will do", 100*(bench.NoiseBand-1))
}

func writeDecisions(w io.Writer, r *bench.Result) {
	all := bench.Decisions(r.Crossovers)
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w)
	paragraph(w, "", "crossover: from which size of payload on a chunk is faster than inline, "+aboutBand())
	for _, d := range all {
		paragraph(w, "  ", fmt.Sprintf("%s: %s; %s", what(d), d.Where(), d.Gain()))
	}
}

func writeSettings(w io.Writer, a *bench.Recommendation) {
	all := settings(a)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nto set it\n")
	for _, s := range all {
		fmt.Fprintf(w, "  %-12s%s\n", s.Where+":", s.Text)
	}
}
