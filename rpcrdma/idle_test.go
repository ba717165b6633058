//go:build !race

package rpcrdma_test

import (
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestIdleBytes checks that an idle connection, after many concurrent calls, takes at most 32 KiB
// of heap and stacks at each end. Both ends are in this process. With the race detector stacks are
// larger.
func TestIdleBytes(t *testing.T) {
	onProviders(t, func(t *testing.T, provider string) {
		const conns, calls, bound = 200, 64, 32 << 10
		cr := newManyClients(t, provider, 0, rpcrdma.Config{})
		before := heapAndStacks()
		cr.join(conns)
		for _, c := range cr.clients {
			together(t, c, calls)
		}
		each := (heapAndStacks() - before) / conns
		t.Logf("%d bytes for both ends", each)
		if each > 2*bound {
			t.Errorf("%d bytes for both ends of a connection, want no more than %d", each,
				2*bound)
		}
	})
}

// heapAndStacks is the memory in bytes that this process uses, after collections: stacks shrink by
// half at each.
func heapAndStacks() int64 {
	for range 5 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
