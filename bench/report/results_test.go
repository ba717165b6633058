package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := writeCSV(&b, small()); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(lines), 1+len(small().Measured); got != want {
		t.Fatalf("got %d lines, want %d", got, want)
	}
	names := []string{
		"path", "way", "size_bytes", "calls_in_flight", "connections", "calls", "elapsed_s", "throughput_bytes_per_s", "calls_per_s",
		"latency_p50_us", "latency_p99_us", "latency_p99.9_us", "latency_max_us", "client_cpu_s_per_gb", "server_cpu_s_per_gb",
		"client_cpu_us_per_call", "server_cpu_us_per_call", "client_allocs_per_call", "server_allocs_per_call",
		"wire_bytes", "wire_bytes_per_payload_byte", "ratio_to_raw", "rounds", "rounds_disturbed",
	}
	for _, tt := range []struct {
		name string
		line int
		want []string
	}{
		{"names", 0, names},
		{"by chunk", 5, []string{
			"iwarp", "read chunk", "1048576", "1", "1", "1000", "0.1", "1.048576e+10", "10000", "100", "200", "300", "10000",
			"0.0476837158", "0.0238418579", "50", "25", "2.5", "0.005", "1048832000", "1.00024414", "0.748982857", "4", "0",
		}},
		{"in one process", 8, []string{
			"loopback", "write chunk", "1024", "1", "4", "1000", "0.0008", "1.28e+09", "1250000", "0.8", "1.6", "2.4", "80",
			"0.390625", "", "0.4", "", "2.5", "", "0", "", "", "4", "0",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines[tt.line]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	want := small()
	var b bytes.Buffer
	if err := writeJSON(&b, want); err != nil {
		t.Fatal(err)
	}
	var got bench.Result
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
