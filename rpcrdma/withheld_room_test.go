package rpcrdma_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestLateDoneMakesRoom: a reply is withheld because the maximum of RDMA_DONEs is owed. One of them
// is late. When it comes, it makes room, too.
func TestLateDoneMakesRoom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{
			Dialect: rpcrdma.Draft, Credits: 2, PeerTimeout: time.Hour,
			MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 262144,
		})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		p.source(1, 1, 5001)
		quarters(5)
		r.freed(1)
		p.source(2, 1, 5001)
		p.send(header(3, rpcrdma.TypeMsg), callBytes(3, procSource, &source{1, 5001}))
		waitFor(t, func() bool { return conn.Stats().Withheld == 1 })
		p.done(1)
		if h, _ := p.next(); h.XID != 3 || len(h.Reads) != 1 {
			t.Errorf("answer %+v, want the reply that was withheld", h)
		}
		r.notFreed()
		p.done(2)
		p.done(3)
		r.freed(2)
		p.alive()
		r.memoryBack(p)
	})
}

// TestWithheldGrantsNothing: while a reply is withheld, other replies grant nothing (draft section
// 11), even if no call waits. The last withheld reply brings the grant.
func TestWithheldGrantsNothing(t *testing.T) {
	r := newRig(t, smallShare)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	p.send(header(50, rpcrdma.TypeMsg), callBytes(50, procBlock, &items{}))
	wait(t, r.program.entered)
	for xid := range uint32(3) {
		p.ask(1 + xid)
	}
	p.answered(1)
	p.answered(2)
	waitFor(t, func() bool { return conn.Stats().Withheld == 1 })
	r.program.pass(t)
	if h, _ := p.next(); h.XID != 50 || h.Credits != 0 {
		t.Errorf("reply to %d grants %d while one is withheld, want 0 in that to 50", h.XID, h.Credits)
	}
	p.done(1)
	if h := p.answered(3); h.Credits == 0 {
		t.Error("the reply that was withheld grants nothing")
	}
	p.done(2)
	p.done(3)
	p.alive()
	r.memoryBack(p)
}
