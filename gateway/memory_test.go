package gateway

import "testing"

// TestCost: the cost of a reply is the size of its buffer.
func TestCost(t *testing.T) {
	for n, want := range map[int]int64{
		0: 0, 4 << 10: 0, 4<<10 + 1: 8 << 10, 1 << 20: 1 << 20, 1<<20 + 1: 2 << 20,
	} {
		if got := cost(n); got != want {
			t.Errorf("%d bytes: cost %d, want %d", n, got, want)
		}
	}
}
