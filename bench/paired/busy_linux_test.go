package paired

import (
	"testing"
	"time"
)

func TestParseBusy(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     time.Duration
	}{
		{"all but idle and iowait", "cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9 9 9\n", 630 * time.Millisecond},
		{"an old kernel", "cpu  1 2 4 8\n", 0},
		{"another line", "intr  1 2 4 8 16 32 64 128 256\n", 0},
		{"no number", "cpu  1 2 4 8 16 32 64 x 256\n", 0},
		{"nothing", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseBusy([]byte(tt.in)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := busyTime(); got <= 0 {
		t.Errorf("got %v of this machine, want some", got)
	}
}
