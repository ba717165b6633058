package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseBusy(t *testing.T) {
	const (
		ms  = time.Millisecond
		all = "cpu  1 2 4 1000 2000 8 16 32 64 128\n" +
			"cpu0 9 0 0 9 9 0 0 9 9 9\ncpu1 1 2 3 9 9 4 5 6 9 9\ncpu11 7 7 7 9 9 7 7 7 9 9\nintr 1 2 3\n"
	)
	for _, tt := range []struct {
		name, in string
		cpus     []int
		want     Busy
	}{
		{"neither idle nor iowait, nor guests, which are in user", all, nil, Busy{70 * ms, 240 * ms, 320 * ms}},
		{"one CPU", all, []int{1}, Busy{60 * ms, 90 * ms, 60 * ms}},
		{"two CPUs", all, []int{0, 1}, Busy{150 * ms, 90 * ms, 150 * ms}},
		{"a CPU that is not there", all, []int{7}, Busy{}},
		{"an old kernel", "cpu  1 2 4 8\n", nil, Busy{}},
		{"another line", "intr  1 2 4 8 16 32 64 128 256\n", nil, Busy{}},
		{"no number", "cpu  1 2 4 8 16 32 64 x 256\n", nil, Busy{}},
		{"nothing", "", nil, Busy{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseBusy([]byte(tt.in), tt.cpus)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := BusyTime().All(); got <= 0 {
		t.Errorf("got %v of this machine, want some", got)
	}
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if got := BusyTime(cpus...).All(); got <= 0 {
		t.Errorf("got %v of CPUs %v, want some", got, cpus)
	}
}
