package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// writeJSON writes r so that it can be read into a Result again.
func writeJSON(w io.Writer, r *bench.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// field is a column of the CSV file.
type field struct {
	name  string // with its unit
	value func(*bench.Measurement) string
}

// fields has the columns in an order that does not change; new ones come last. A missing figure is
// empty.
var fields = []field{
	{"path", func(m *bench.Measurement) string { return string(m.Path) }},
	{"way", func(m *bench.Measurement) string { return string(m.Way) }},
	{"size_bytes", func(m *bench.Measurement) string { return strconv.Itoa(m.Size) }},
	{"calls_in_flight", func(m *bench.Measurement) string { return strconv.Itoa(m.InFlight) }},
	{"connections", func(m *bench.Measurement) string { return strconv.Itoa(m.Conns) }},
	{"calls", func(m *bench.Measurement) string { return strconv.FormatInt(m.Calls, 10) }},
	{"elapsed_s", func(m *bench.Measurement) string { return digits(m.Elapsed.Seconds()) }},
	{"throughput_bytes_per_s", func(m *bench.Measurement) string { return digits(m.Throughput()) }},
	{"calls_per_s", func(m *bench.Measurement) string { return digits(m.Rate()) }},
	{"latency_p50_us", func(m *bench.Measurement) string { return digits(latency(m.Latency.P50)) }},
	{"latency_p99_us", func(m *bench.Measurement) string { return digits(latency(m.Latency.P99)) }},
	{"latency_p99.9_us", func(m *bench.Measurement) string { return digits(latency(m.Latency.P999)) }},
	{"latency_max_us", func(m *bench.Measurement) string { return digits(latency(m.Latency.Max)) }},
	{"client_cpu_s_per_gb", func(m *bench.Measurement) string { return digits(perGB(m, &m.Client)) }},
	{"server_cpu_s_per_gb", func(m *bench.Measurement) string { return digits(perGB(m, server(m))) }},
	{"client_cpu_us_per_call", func(m *bench.Measurement) string { return digits(perCall(m, &m.Client)) }},
	{"server_cpu_us_per_call", func(m *bench.Measurement) string { return digits(perCall(m, server(m))) }},
	{"client_allocs_per_call", func(m *bench.Measurement) string { return digits(allocs(m, &m.Client)) }},
	{"server_allocs_per_call", func(m *bench.Measurement) string { return digits(allocs(m, server(m))) }},
	{"wire_bytes", func(m *bench.Measurement) string { return strconv.FormatInt(m.WireBytes, 10) }},
	{"wire_bytes_per_payload_byte", func(m *bench.Measurement) string { return digits(wire(m)) }},
	{"ratio_to_raw", func(m *bench.Measurement) string { return digits(ratio(m)) }},
	{"rounds", func(m *bench.Measurement) string { return strconv.Itoa(len(m.Rounds)) }},
	{"rounds_disturbed", func(m *bench.Measurement) string { return strconv.Itoa(disturbed(m)) }},
}

// digits writes x with nine digits, or "" if x is not a number.
func digits(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 9, 64)
}

// writeCSV writes the names of the fields, and a line for each point.
func writeCSV(w io.Writer, r *bench.Result) error {
	c := csv.NewWriter(w)
	var line []string
	for _, f := range fields {
		line = append(line, f.name)
	}
	_ = c.Write(line)
	for i := range r.Measured {
		line = line[:0]
		for _, f := range fields {
			line = append(line, f.value(&r.Measured[i]))
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error() // the first error of any line
}
