package rpcrdma

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Connections of one domain keep as much together as one does. What the last leaves goes back, also what is in use still.
func TestPoolSet(t *testing.T) {
	var s poolSet
	d, other := new(loopback.Domain), new(loopback.Domain)
	var pools []*pool
	var slices []transport.Slice
	for range 4 {
		p := s.join(d)
		for range poolKeep >> 20 {
			b, err := p.get(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			slices = append(slices, b)
		}
		pools = append(pools, p)
	}
	for i, b := range slices[1:] {
		pools[i%len(pools)].put(b)
	}
	allocated(t, d, poolKeep>>20+1, poolKeep+1<<20)
	if s.join(other) == pools[0] {
		t.Error("a pool is shared whose memory is another")
	}
	for _, p := range pools {
		allocated(t, d, poolKeep>>20+1, poolKeep+1<<20)
		s.leave(p)
	}
	allocated(t, d, 1, 1<<20)
	pools[0].put(slices[0])
	allocated(t, d, 0, 0)
	if s.join(d) == pools[0] {
		t.Error("a pool is used that is closed")
	}
}
