package cli

import (
	"math"
	"testing"
)

// TestHumanSize: the expected texts are those of ls -lh of coreutils.
func TestHumanSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0:                "0",
		1023:             "1023",
		1024:             "1.0K",
		1025:             "1.1K",
		1536:             "1.5K",
		10137:            "9.9K",
		10138:            "10K",
		10240:            "10K",
		10241:            "11K",
		1023 << 10:       "1023K",
		1023<<10 + 1:     "1.0M",
		1 << 20:          "1.0M",
		1<<20 + 1:        "1.1M",
		5 << 30:          "5.0G",
		100<<30 + 1:      "101G",
		3 << 40:          "3.0T",
		1 << 50:          "1.0P",
		1 << 60:          "1.0E",
		math.MaxUint64:   "16E",
		9<<60 + 1<<59:    "9.5E",
		math.MaxInt64:    "8.0E",
		10<<60 - 1<<50:   "10E",
		1023<<50 + 1<<49: "1.0E",
	} {
		if got := HumanSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
