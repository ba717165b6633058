package gateway

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// One call of each kind has the memory that it needs, whatever the limits are set to.
func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		name         string
		cfg          Config
		maxReply     int
		conn, memory int64
	}{
		{"nothing", Config{}, 1 << 20, 64 << 20, 512 << 20},
		{"small", Config{MaxReply: 1, ConnMemory: 1, Memory: 1}, 4 << 10, 8 << 10, 8 << 10},
		{"odd", Config{MaxReply: 100_001}, 100_001, 64 << 20, 512 << 20},
		{"large", Config{MaxReply: 100 << 20}, 100 << 20, 128 << 20, 512 << 20},
		{"very large", Config{MaxReply: 1000 << 20}, 1000 << 20, 1 << 30, 1 << 30},
		{"more than there is", Config{MaxReply: 1 << 40}, 1<<30 - 4<<10, 1 << 30, 1 << 30},
		{"more for one than for all", Config{ConnMemory: 1 << 30}, 1 << 20, 1 << 30, 1 << 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.cfg.withDefaults()
			if got.MaxReply != tt.maxReply || got.ConnMemory != tt.conn || got.Memory != tt.memory {
				t.Errorf("got %d, %d, %d, want %d, %d, %d", got.MaxReply, got.ConnMemory, got.Memory, tt.maxReply, tt.conn, tt.memory)
			}
			// Transports round it up.
			if most := got.MaxMessage(); most < got.MaxReply+headroom || most%xdr.Unit != 0 {
				t.Errorf("a message may have %d bytes", most)
			}
			if most := tt.cfg.MaxMessage(); most != got.MaxMessage() || cost(most) > got.ConnMemory {
				t.Errorf("a message may have %d bytes, or %d", most, got.MaxMessage())
			}
		})
	}
}

// A buffer holds what was asked for, and is accounted for as what it takes.
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
