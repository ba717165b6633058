package gateway

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Calls wait for memory, of the connection and of all, and none is lost.
func TestMemory(t *testing.T) {
	gate := newGate()
	most := cost(Config{MaxReply: 64 << 10}.MaxMessage())
	g := start(t, Config{
		Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{}), MaxReply: 64 << 10, ConnMemory: 2 * most, Memory: 3 * most,
	}, recordmark.Config{MaxInFlight: 4})
	var streams []rawClient
	const calls = 10 // on each; more than are read
	for i := range 2 {
		s := granted(t, g)
		streams = append(streams, s)
		for xid := range uint32(calls) {
			s.send(testCall(xid, 1))
		}
		for range 2 - i { // what there is memory for: of the connection, of all
			gate.next(t)
		}
	}
	if got := len(gate.entered); got != 0 {
		t.Errorf("%d calls are under way, want 3", 3+got)
	}
	close(gate.open)
	for _, s := range streams {
		seen := make(map[string]bool)
		for range calls {
			seen[string(s.next()[:4])] = true
		}
		if len(seen) != calls {
			t.Errorf("got replies to %d calls, want %d", len(seen), calls)
		}
	}
	g.returned(t, 3*most)
	if got := g.Stats(); got.Waited == 0 {
		t.Errorf("stats %+v", got)
	}
}

// returned waits until all memory has been given back.
func (g *servedGateway) returned(t *testing.T, all int64) {
	t.Helper()
	hang.Until(t, "all memory is given back", func() bool { return g.memory.TryAcquire(all) })
	g.memory.Release(all)
}
