package rpcrdma_test

import (
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestManyReceiveSizes: clients come and go, and each asks for another size of receives, which have
// memory when they are posted. Unused ones serve the next client, and leave room in the pool for
// other memory.
func TestManyReceiveSizes(t *testing.T) {
	for _, align := range []int{0, 512} {
		cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: align}
		r := newRigOn(t, cfg, loopback.Config{}, withoutReceives(new(atomic.Bool)))
		r.server.Handle(expectProgram())
		stays := r.raw(inline4k) // keeps the pool alive
		stays.alive()
		var kept []int
		for i := range 12 {
			p := r.raw(inline4k)
			n := 32768 - 4*i - i%3
			if got := p.expect(n); got != n {
				t.Fatalf("expected %d bytes of %d asked for", got, n)
			}
			p.alive() // which grants 32 such receives
			conn := r.program.connOf(t, p)
			p.ep.Close()
			wait(t, conn.Done())
			_, size := r.fabric.Domain().Allocated()
			kept = append(kept, size)
		}
		if first, last := kept[0], kept[len(kept)-1]; first < 32*32768 || last > first {
			t.Errorf("align %d: %d bytes are in use or kept after each client, want no more than after the first", align, kept)
		}
	}
}
