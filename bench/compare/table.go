package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// writeTable writes results as text.
func writeTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "workload\tours\tagainst\tratio\tquartiles\towed\tgoal\t\t"+
		"ours\ttheirs\tunit\tCPU ours\ttheirs\tunit\tothers")
	for _, r := range results {
		if r.report == nil {
			continue
		}
		s := ratio(r.report)
		theirs, ours := r.report.Sides()
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f-%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s/%s\t%s/%s\t%s\t%.0f%%\n",
			r.workload, r.ours, r.other, s.Median, s.Q1, s.Q3, asked(r.owed), asked(r.goal), r.verdict(s.Median),
			paired.FormatFigure(ours.Value), paired.FormatFigure(theirs.Value), r.report.Unit(),
			paired.FormatFigure(ours.ServerCPU), paired.FormatFigure(ours.ClientCPU),
			paired.FormatFigure(theirs.ServerCPU), paired.FormatFigure(theirs.ClientCPU), r.report.CPUUnit(),
			100*r.report.OtherCPU())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nratio: our speed divided by theirs, the median over pairs of rounds; "+
		"CPU: server/client; others: share of a CPU used by other processes")
	for _, r := range results {
		if r.report != nil {
			fmt.Fprintln(w, conditions(r.report))
			break
		}
	}
	return writeLeft(w, results)
}

// conditions describes how a report was made.
func conditions(r *paired.Report) string {
	if isolated() == nil {
		return r.Conditions() + "; in separate namespaces, with this congestion control for all"
	}
	return r.Conditions() + "; the sockets of go-nfs-client use the system's congestion control"
}

// writeLeft writes what was left out, and why, once for each implementation.
func writeLeft(w io.Writer, results []result) error {
	said := make(map[string]bool)
	for _, r := range results {
		if r.left == nil || said[r.other] {
			continue
		}
		said[r.other] = true
		if _, err := fmt.Fprintf(w, "left out: %s: %v\n", r.other, r.left); err != nil {
			return err
		}
	}
	return nil
}

// asked formats a required ratio, or returns "" if there is none.
func asked(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}
