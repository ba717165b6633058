package demo

import (
	"testing"
	"time"
)

func TestThroughput(t *testing.T) {
	if got, want := (throughput{5e6, 2 * time.Millisecond}).String(), "5000000 bytes in 2ms, 2500 MB/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
