package paired

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes reports as text, one on a line. A pair such as 41/40 is the server's figure and
// the client's. The column others has the CPU time of other processes, as a share of one CPU.
func WriteTable(w io.Writer, reports []*Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "candidate\tyardstick\tratio\tquartiles\tunit\tyardstick\tcandidate\t"+
		"CPU unit\tyardstick\tcandidate\tCPU ratio\tallocs/op\tothers")
	for _, r := range reports {
		ratio := r.Ratio()
		y, c := r.Sides()
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f-%.2f\t%s\t%s\t%s\t%s\t%s/%s\t%s/%s\t%.2f\t%.2f/%.2f\t%.0f%%\n",
			r.Candidate.Name, r.Yardstick.Name, ratio.Median, ratio.Q1, ratio.Q3,
			r.Unit(), FormatFigure(y.Value), FormatFigure(c.Value),
			r.CPUUnit(), FormatFigure(y.ServerCPU), FormatFigure(y.ClientCPU),
			FormatFigure(c.ServerCPU), FormatFigure(c.ClientCPU), r.CPU().Median,
			c.ServerAllocs, c.ClientAllocs, 100*r.OtherCPU())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(reports) > 0 {
		fmt.Fprintln(w, reports[0].Conditions())
	}
	return nil
}

// FormatFigure formats v with three significant digits, or with all digits before the point.
func FormatFigure(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
