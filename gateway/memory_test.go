package gateway

import "testing"

// TestBuffers: a buffer holds the requested size, and its cost is that of its true size.
func TestBuffers(t *testing.T) {
	var pool bufferPool
	for _, tt := range []struct {
		n, size int
		cost    int64
	}{
		{0, 4 << 10, 0}, {1, 4 << 10, 0}, {4 << 10, 4 << 10, 0}, {4<<10 + 1, 8 << 10, 8 << 10},
		{1 << 20, 1 << 20, 1 << 20}, {1<<20 + 1, 2 << 20, 2 << 20},
	} {
		b := pool.get(tt.n)
		if len(b.data) != tt.size || cost(tt.n) != tt.cost {
			t.Errorf("%d bytes: got a buffer of %d, cost %d; want %d, %d", tt.n, len(b.data), cost(tt.n), tt.size, tt.cost)
		}
		pool.put(b)
	}
}
