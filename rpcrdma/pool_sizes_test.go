package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestManyReceiveSizes has clients come and go that each ask for receives of another size. What lies unused of them serves the next one, and
// leaves room in the pool for other memory.
func TestManyReceiveSizes(t *testing.T) {
	const limit = 4 << 20 // the receives of four connections, about
	for _, align := range []int{0, 512} {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: align})
		r.server.Handle(expectProgram())
		stays := r.raw(inline4k) // and with it the pool
		stays.alive()
		first := wait(t, r.program.conns)
		first.LimitPool(limit)
		for i := range 12 {
			p := r.raw(inline4k)
			n := 32768 - 4*i - i%3
			if got := p.expect(n); got != n {
				t.Fatalf("expected %d bytes of %d asked for", got, n)
			}
			p.alive()
			conn := wait(t, r.program.conns)
			p.ep.Close()
			wait(t, conn.Done())
		}
		before, kinds := first.PoolKept()
		if kept := first.PoolKeeps(1 << 20); kept != 1<<20 {
			t.Errorf("align %d: a buffer of %d bytes is not kept, as there are %d of %d in receives of %d kinds", align, 1<<20, before, limit, kinds)
		}
		if kinds > 2 {
			t.Errorf("align %d: receives of %d kinds, want 2", align, kinds)
		}
	}
}
