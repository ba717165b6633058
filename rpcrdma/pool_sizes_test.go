package rpcrdma

import "testing"

// TestManyReceiveSizes has clients come and go that each ask for receives of another size. What lies unused of them serves the next one, and
// leaves room in the pool for other memory.
func TestManyReceiveSizes(t *testing.T) {
	const limit = 4 << 20 // the receives of four connections, about
	for _, align := range []int{0, 512} {
		r := newRig(t, Config{Dialect: Draft, Align: align})
		r.server.Handle(expectProgram())
		stays := r.raw(inline4k) // and with it the pool
		stays.alive()
		pool := wait(t, r.program.conns).pool
		pool.mu.Lock()
		pool.limit = limit
		pool.mu.Unlock()
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
		big, err := pool.get(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		pool.mu.Lock()
		before, kinds := pool.kept, len(pool.receives)
		pool.mu.Unlock()
		pool.put(big)
		pool.mu.Lock()
		kept := pool.kept - before
		pool.mu.Unlock()
		if kept != len(big.Bytes) {
			t.Errorf("align %d: a buffer of %d bytes is not kept, as there are %d of %d in receives of %d kinds", align, len(big.Bytes), before, limit, kinds)
		}
		if kinds > 2 {
			t.Errorf("align %d: receives of %d kinds, want 2", align, kinds)
		}
	}
}
