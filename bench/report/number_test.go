package report

import (
	"math"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{
		{0, "0"}, {.0004, "0.000"}, {.0123, "0.012"}, {.9994, "0.999"}, {.9996, "1.00"}, {1, "1.00"}, {9.994, "9.99"}, {9.996, "10.0"},
		{99.94, "99.9"}, {99.96, "100"}, {999.4, "999"}, {999.6, "1,000"}, {12345, "12,300"}, {1234567, "1,230,000"}, {-1.5, "-1.50"},
		{math.NaN(), "-"}, {math.Inf(1), "-"}, {math.Inf(-1), "-"},
	} {
		if got := number(tt.in); got != tt.want {
			t.Errorf("number(%v): got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		in          float64
		want, short string
	}{
		{1e6, "1.00 MB/s", "1 MB/s"}, {500, "0.500 kB/s", "0.5 kB/s"}, {1.25e10, "12.5 GB/s", "12.5 GB/s"}, {1e11, "100 GB/s", "100 GB/s"},
		{5e13, "50,000 GB/s", "50,000 GB/s"}, {9.999e8, "1.00 GB/s", "1 GB/s"},
	} {
		if got := throughput(tt.in); got != tt.want {
			t.Errorf("throughput(%v): got %q, want %q", tt.in, got, tt.want)
		}
		if got := short(throughput)(tt.in); got != tt.short {
			t.Errorf("short(throughput)(%v): got %q, want %q", tt.in, got, tt.short)
		}
	}
}
