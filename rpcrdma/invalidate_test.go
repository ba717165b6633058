package rpcrdma_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// heldInvalidations is an endpoint that can hold local invalidations back, and then its end.
func heldInvalidations(ep transport.Endpoint) *heldRequests {
	h := holdRequests(ep, transport.OpInvalidate)
	h.flushed = make(chan struct{})
	go h.flush()
	return h
}

// newInvalidationsRig is a rig, and the endpoints of its server.
func newInvalidationsRig(t testing.TB, cfg rpcrdma.Config) (*rig, chan *heldRequests) {
	made := make(chan *heldRequests, 1024)
	return newRigOn(t, cfg, loopback.Config{}, func(ep transport.Endpoint) transport.Endpoint {
		h := heldInvalidations(ep)
		made <- h
		return h
	}), made
}

// TestReplyInvalidated: the memory of a reply is released when its windows have ended, and not
// before, however the reply ends.
func TestReplyInvalidated(t *testing.T) {
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour}
	for _, tt := range []struct {
		name string
		end  func(p *rawPeer)
	}{
		{"RDMA_DONE", func(p *rawPeer) { p.done(9) }},
		{"no RDMA_DONE", func(*rawPeer) { quarters(5) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r, made := newInvalidationsRig(t, cfg)
				p := r.raw(inline4k)
				p.alive()
				ep := wait(t, made)
				p.source(9, 2, 5001)
				ep.holding.Store(true)
				tt.end(p)
				for i := range 2 { // a window for each item
					waitFor(t, func() bool { return len(ep.queue) == 2-i })
					r.notFreed()
					ep.release(t, 1)
				}
				r.freed(2)
				ep.holding.Store(false)
				r.memoryBack(p)
				p.alive()
				r.notFreed()
			})
		})
	}
	t.Run("end of the connection", func(t *testing.T) {
		r, made := newInvalidationsRig(t, cfg)
		p := r.raw(inline4k)
		p.alive()
		ep, conn := wait(t, made), wait(t, r.program.conns)
		p.source(9, 2, 5001) // not read
		p.source(10, 1, 5001)
		ep.holding.Store(true)
		p.done(10)
		waitFor(t, func() bool { return len(ep.queue) == 1 })
		p.ep.Close()
		ep.flushed <- struct{}{} // the held requests are flushed
		r.freed(3)
		ended(t, conn)
		r.notFreed()
		r.memoryBack()
	})
	t.Run("flushed before the end", func(t *testing.T) {
		r, made := newInvalidationsRig(t, cfg)
		p := r.raw(inline4k)
		p.alive()
		ep, conn := wait(t, made), wait(t, r.program.conns)
		p.source(9, 1, 5001)
		ep.holding.Store(true)
		p.done(9)
		waitFor(t, func() bool { return len(ep.queue) == 1 })
		p.ep.Close()
		waitFor(t, func() bool { return len(ep.queue) == 0 })
		r.notFreed() // the provider has flushed it, but has not ended
		ep.flushed <- struct{}{}
		r.freed(1)
		ended(t, conn)
		r.notFreed()
	})
}

// abandonedCall is a call with a read chunk and a reply chunk that its caller has given up.
type abandonedCall struct {
	t      *testing.T
	c      *rpcrdma.Conn
	p      *rawPeer
	ep     *heldRequests
	domain *loopback.Domain
	h      *rpcrdma.Header // of the call
}

func newAbandonedCall(t *testing.T) *abandonedCall {
	t.Helper()
	a := &abandonedCall{t: t}
	wrap := func(ep transport.Endpoint) transport.Endpoint {
		a.ep = heldInvalidations(ep)
		return a.ep
	}
	a.c, a.p = rawServerOn(t, rpcrdma.Config{}, inline4k, wrap)
	t.Cleanup(func() { close(a.ep.flushed) })
	a.domain = a.p.ep.Domain().(*loopback.Domain)
	s := start(t.Context(), a.c, &items{}, nil) // opens the window
	h, _ := a.p.next()
	a.reply(h.XID)
	if err := wait(t, s.err); err != nil {
		t.Fatal(err)
	}
	a.ep.holding.Store(true)
	return a
}

// call makes the call.
func (a *abandonedCall) call() (giveUp func()) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	s := start(ctx, a.c, &items{data: [][]byte{make([]byte, 9000)}}, nil)
	a.h, _ = a.p.next()
	if len(a.h.Reads) != 1 || len(a.h.Reply) != 1 {
		a.t.Fatalf("the call has %d read segments and %d of a reply chunk", len(a.h.Reads),
			len(a.h.Reply))
	}
	return func() {
		a.t.Helper()
		cancel()
		if err := wait(a.t, s.err); !errors.Is(err, context.Canceled) {
			a.t.Errorf("the call ended with %v", err)
		}
	}
}

// alike makes n calls like it at a time, and reports whether they take memory that was
// not in use before.
func (a *abandonedCall) alike(n int) (fresh bool) {
	a.t.Helper()
	_, before := a.domain.Allocated()
	var calls []*started
	var xids []uint32
	for range n {
		calls = append(calls, start(a.t.Context(), a.c, &items{data: [][]byte{make([]byte, 9000)}}, nil))
		h, _ := a.p.next()
		xids = append(xids, h.XID)
	}
	_, after := a.domain.Allocated()
	for i, s := range calls {
		a.reply(xids[i])
		if err := wait(a.t, s.err); err != nil {
			a.t.Fatal(err)
		}
	}
	return after-before >= 9000
}

// reply sends a reply.
func (a *abandonedCall) reply(xid uint32) {
	a.t.Helper()
	a.p.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
}

// replyInvalidate is reply that ends the window of s.
func (a *abandonedCall) replyInvalidate(xid uint32, s chunks.Segment) {
	a.t.Helper()
	b := append(header(xid, rpcrdma.TypeMsg).Append(nil),
		append(replyHeader(xid), be32(0, 7)...)...)
	a.p.do(transport.WorkRequest{
		Op: transport.OpSendInvalidate, Invalidate: transport.STag(s.Handle), Local: []transport.Slice{{Bytes: b}},
	})
}

// ends checks that n windows are ended for the call, and that its memory comes back then.
func (a *abandonedCall) ends(n int) {
	a.t.Helper()
	for i := range n {
		waitFor(a.t, func() bool { return len(a.ep.queue) == n-i })
		if i == 0 && !a.alike(1) {
			a.t.Error("memory is used again before the window over it has ended")
		}
		if got := a.c.Stats().LateReplies; got != 0 {
			a.t.Errorf("%d late replies before the windows have ended", got)
		}
		a.ep.release(a.t, 1)
	}
	waitFor(a.t, func() bool { return a.c.Stats().LateReplies == 1 })
	if n := len(a.ep.queue); n != 0 {
		a.t.Errorf("%d invalidations too many", n)
	}
	if a.alike(2) {
		a.t.Error("memory has not come back")
	}
}

// TestAbandonedInvalidated: the memory of a cancelled call comes back when its windows have ended.
// One request ends each window, except those that the peer has ended already.
func TestAbandonedInvalidated(t *testing.T) {
	t.Run("all windows", func(t *testing.T) {
		a := newAbandonedCall(t)
		a.call()()
		a.reply(a.h.XID)
		waitFor(t, func() bool { return len(a.ep.queue) == 2 })
		a.p.write(a.h.Reply[0], make([]byte, 100)) // allowed as long as the window exists
		a.ends(2)
	})
	t.Run("one is ended by the peer", func(t *testing.T) {
		a := newAbandonedCall(t)
		a.call()()
		a.replyInvalidate(a.h.XID, a.h.Reply[0])
		a.ends(1)
	})
	t.Run("one is ended by the reply to another call", func(t *testing.T) {
		a := newAbandonedCall(t)
		giveUp := a.call()
		s := start(t.Context(), a.c, &items{}, nil)
		other, _ := a.p.next()
		a.replyInvalidate(other.XID, a.h.Reads[0].Segment)
		if err := wait(t, s.err); err != nil {
			t.Fatal(err)
		}
		giveUp()
		a.reply(a.h.XID)
		a.ends(1)
	})
	t.Run("the connection ends", func(t *testing.T) {
		a := newAbandonedCall(t)
		a.call()()
		a.reply(a.h.XID)
		waitFor(t, func() bool { return len(a.ep.queue) == 2 })
		a.p.ep.Close()
		waitFor(t, func() bool { return len(a.ep.queue) == 0 })
		if _, bytes := a.domain.Allocated(); bytes < 9000 {
			t.Error("memory is given back that the provider may touch")
		}
		a.ep.flushed <- struct{}{}
		ended(t, a.c)
		if n, bytes := a.domain.Allocated(); n != 0 {
			t.Errorf("%d pieces of memory, %d bytes, at the end", n, bytes)
		}
	})
}
