package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// record is a result as written to files.
type record struct {
	Workload string `json:"workload"`
	Ours     string `json:"ours"`
	Against  string `json:"against"`
	LeftOut  string `json:"left_out,omitempty"` // why

	// Our speed divided by theirs, and the required ratios; 0 means none.
	Ratio float64 `json:"ratio,omitempty"`
	Q1    float64 `json:"q1,omitempty"`
	Q3    float64 `json:"q3,omitempty"`
	Owed  float64 `json:"owed,omitempty"`
	Goal  float64 `json:"goal,omitempty"`

	Unit    string       `json:"unit,omitempty"` // of the values
	CPUUnit string       `json:"cpu_unit,omitempty"`
	Us      *paired.Side `json:"us,omitempty"`
	Them    *paired.Side `json:"them,omitempty"`
	Others  float64      `json:"others,omitempty"` // CPUs used by other processes

	Rounds []paired.Round `json:"rounds,omitempty"`
}

func newRecord(r result) record {
	rec := record{Workload: r.workload.String(), Ours: r.ours, Against: r.other, Owed: r.owed, Goal: r.goal}
	if r.left != nil {
		rec.LeftOut = r.left.Error()
	}
	if r.report == nil {
		return rec
	}
	s := ratio(r.report)
	theirs, ours := r.report.Sides()
	rec.Ratio, rec.Q1, rec.Q3 = s.Median, s.Q1, s.Q3
	rec.Unit, rec.CPUUnit, rec.Us, rec.Them = r.report.Unit(), r.report.CPUUnit(), &ours, &theirs
	rec.Others, rec.Rounds = r.report.OtherCPU(), r.report.Rounds
	return rec
}

// writeJSON writes results as an array.
func writeJSON(w io.Writer, results []result) error {
	records := make([]record, len(results))
	for i, r := range results {
		records[i] = newRecord(r)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(records)
}

// columns has the columns of the CSV file.
var columns = []string{
	"workload", "ours", "against", "ratio", "q1", "q3", "owed", "goal", "unit", "value_ours", "value_theirs",
	"cpu_unit", "server_cpu_ours", "client_cpu_ours", "server_cpu_theirs", "client_cpu_theirs", "others", "left_out",
}

// writeCSV writes the results, one on a line.
func writeCSV(w io.Writer, results []result) error {
	c := csv.NewWriter(w)
	if err := c.Write(columns); err != nil {
		return err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, r := range results {
		rec := newRecord(r)
		us, them := rec.Us, rec.Them
		if us == nil {
			us, them = new(paired.Side), new(paired.Side)
		}
		err := c.Write([]string{rec.Workload, rec.Ours, rec.Against, number(rec.Ratio), number(rec.Q1), number(rec.Q3),
			number(rec.Owed), number(rec.Goal), rec.Unit, number(us.Value), number(them.Value),
			rec.CPUUnit, number(us.ServerCPU), number(us.ClientCPU),
			number(them.ServerCPU), number(them.ClientCPU), number(rec.Others), rec.LeftOut})
		if err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
