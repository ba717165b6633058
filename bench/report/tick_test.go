package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		name     string
		axis     axis
		from, to float64
		want     []string
	}{
		{"sizes", sizeAxis, 200, 5 << 20, []string{"256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"}},
		{"many sizes", sizeAxis, 1, 4 << 20, []string{"1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"}},
		{"an octave of sizes", sizeAxis, 1 << 10, 4 << 10, []string{"1 KiB", "4 KiB"}},
		{"counts", countAxis, .9, 70, []string{"1", "2", "4", "8", "16", "32", "64"}},
		{"two decades", speedAxis, 9e7, 6e9, []string{"100 MB/s", "200 MB/s", "500 MB/s", "1 GB/s", "2 GB/s", "5 GB/s"}},
		{"many decades", speedAxis, 2e6, 3e10, []string{"10 MB/s", "100 MB/s", "1 GB/s", "10 GB/s"}},
		{"latency", latencyAxis, 900, 2.1e6, []string{"1 µs", "10 µs", "100 µs", "1 ms"}},
		{"lead", leadAxis, .45, 3.5, []string{"× 0.5", "× 0.75", "× 1", "× 1.5", "× 2", "× 3"}},
		{"rate", rateAxis, 1e5, 5.1e6, []string{"100 k", "200 k", "500 k", "1 M", "2 M", "5 M"}},
		{"nothing", speedAxis, 0, 0, nil},
		{"upside down", speedAxis, 2, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, tick := range tt.axis.ticks(tt.from, tt.to, maxTicks) {
				got = append(got, tick.Label)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
