package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestWithheldLetGo: the goroutine of a handler withholds a reply while an RDMA_DONE makes room for
// it. Another goroutine may send and finish the reply before Reply has returned. The race detector
// finds whether Reply still touches it then.
func TestWithheldLetGo(t *testing.T) {
	r := newRig(t, smallShare)
	r.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
		// on a goroutine of its own
		procSource: {Name: "SOURCE", Handler: r.program.program().Procedures[procSource].Handler},
	}})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	ask := func(xid uint32) {
		t.Helper()
		m := callBytes(xid, procSource, &source{1, third})
		m[19] = 2 // the version
		p.send(header(xid, rpcrdma.TypeMsg), m)
	}
	for range 8 {
		for xid := range uint32(2) {
			ask(1 + xid)
			p.answered(1 + xid)
		}
		ask(3)
		// A call that has to wait for memory shows that the reply is withheld. It finds that out
		// under the budget's lock. Reading the counter of withheld replies would order what follows
		// after Reply.
		for waited := conn.Stats().Waited; ; {
			p.send(header(4, rpcrdma.TypeMsg), callBytes(4, procNull, nil))
			waitFor(t, func() bool { return len(p.msgs) > 0 || conn.Stats().Waited > waited })
			if len(p.msgs) == 0 {
				break
			}
			p.next()
		}
		p.done(1)
		p.answered(3)
		if h, _ := p.next(); h.XID != 4 {
			t.Errorf("answer to %d, want one to the call that waited", h.XID)
		}
		p.done(2)
		p.done(3)
		r.freed(3)
	}
	p.alive()
	r.memoryBack(p)
}
