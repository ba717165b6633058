package daemon

import (
	"testing"
)

// TestConnsOf: with enough descriptors a server has the usual number of connections; with few it
// leaves most descriptors to others.
func TestConnsOf(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		1 << 20: 1024, 4096: 1024, 1024: 256, 256: 64, 20: 16, 1<<64 - 1: 1024,
	} {
		if got := connsOf(descriptors); got != want {
			t.Errorf("%d connections with %d descriptors, want %d", got, descriptors, want)
		}
	}
}
