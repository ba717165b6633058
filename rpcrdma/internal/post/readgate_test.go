package post

import (
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readsOnly is an endpoint that has posted Reads in order, and no more of them than two.
type readsOnly struct {
	*fakeEndpoint
	reads [2]*transport.WorkRequest
	n     int
}

func (e *readsOnly) Post(wrs ...*transport.WorkRequest) error {
	e.n += copy(e.reads[e.n:], wrs)
	return nil
}

// TestReadGateMemory: one Read always waits, while hundreds of thousands go by. The gate keeps no
// memory for those that are gone.
func TestReadGateMemory(t *testing.T) {
	const rounds, most = 200_000, 64 << 10
	ep := &readsOnly{fakeEndpoint: newFakeEndpoint(16, nil)}
	var q Queue
	q.Open(ep, nil)
	g := new(ReadGate)
	g.Open(&q)
	g.Set(len(ep.reads))
	info := ep.Info()
	segments := []chunks.ReadSegment{{Segment: chunks.Segment{Handle: 1, Length: 8}}}
	dst := []transport.Slice{{Bytes: make([]byte, 8)}}
	var chains [4]Chain // two wait, and one when another has been posted
	post := func(ch *Chain) {
		ch.Begin(1, &info)
		ch.AddReads(segments, 8, dst, nil)
		if err := g.Post(ch); err != nil {
			t.Fatal(err)
		}
	}
	for i := range chains {
		post(&chains[i])
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for i := range rounds {
		if ep.n != 2 {
			t.Fatalf("round %d: %d Reads are under way, want 2", i, ep.n)
		}
		done := ep.reads[0]
		ch := &chains[i%len(chains)]
		if done != &ch.wrs[0] {
			t.Fatalf("round %d: Reads do not leave in order", i)
		}
		ep.reads[0], ep.n = ep.reads[1], 1
		g.Done(8)
		post(ch)
	}
	if after := held(); after > before+most {
		t.Errorf("%d Reads later %d bytes more are held", rounds, after-before)
	}
	runtime.KeepAlive(g)
}
