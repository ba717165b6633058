package rpcrdma_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestAsking lets a server grant and answer at random, at once and late, with replies of all kinds,
// while callers cancel at random. At each step the client has exactly as many calls on the wire as
// it was granted, RDMA_DONEs included. Each call ends as it must, and each reply with a read list
// gets one RDMA_DONE.
func TestAsking(t *testing.T) {
	kinds := []string{"call", "call", "data", "long", "read", "call", "short", "data", "read",
		"give up", "bad", "refused", "long", "read"}
	rapid.Check(t, func(rt *rapid.T) {
		tb := &rapidTB{TB: t, rt: rt}
		rt.Cleanup(tb.clean)
		a := newClientModel(tb, rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(rt, "credits"),
			rapid.Bool().Draw(rt, "serves"))
		domain := a.ep.Domain().(*loopback.Domain)
		for range rapid.SampledFrom([]int{20, 60}).Draw(rt, "steps") {
			kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
			i := rapid.IntRange(0, 20).Draw(rt, "call")
			grant := rapid.SampledFrom([]int{0, 1, 2, 5, 8, 100}).Draw(rt, "grant")
			switch {
			case kind == "call":
				a.call()
			case kind == "give up" && len(a.waiting)+len(a.sent)+len(a.reading) > 0:
				a.giveUp(i)
			case kind == "read" && len(a.reading) > 0:
				a.released()
			case kind == "call", kind == "give up", kind == "read", len(a.sent) == 0:
				continue
			default:
				a.answer(i, kind, grant)
			}
			a.settle()
		}
		a.call()
		for len(a.waiting)+len(a.sent)+len(a.reading) > 0 {
			a.settle()
			if len(a.reading) > 0 {
				a.released()
			} else {
				a.answer(0, "short", 0)
			}
		}
		a.settle()
		a.undoubted()
		a.c.Close()
		ended(a.t, a.c)
		if n, size := domain.Allocated(); n != 0 {
			rt.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
}
