package rpcrdma_test

import (
	"context"
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

// TestReplyInvalidated: the memory of a reply is released when its windows have ended, and not
// before, however the reply ends.
func TestReplyInvalidated(t *testing.T) {
	// unread leaves replies with two items and one to be read.
	unread := func(t *testing.T) (r *rig, p *rawPeer, ep *heldRequests, conn *rpcrdma.Conn) {
		made := make(chan *heldRequests, 1024)
		cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour}
		r = newRigOn(t, cfg, loopback.Config{}, func(ep transport.Endpoint) transport.Endpoint {
			h := heldInvalidations(ep)
			made <- h
			return h
		})
		p = r.raw(inline4k)
		p.alive()
		ep, conn = wait(t, made), wait(t, r.program.conns)
		p.source(9, 2, 5001)
		ep.holding.Store(true)
		return r, p, ep, conn
	}
	for name, end := range map[string]func(p *rawPeer){
		"RDMA_DONE":    func(p *rawPeer) { p.done(9) },
		"no RDMA_DONE": func(*rawPeer) { quarters(5) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r, p, ep, _ := unread(t)
				end(p)
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
		r, p, ep, conn := unread(t)
		p.source(10, 1, 5001)
		p.done(10)
		waitFor(t, func() bool { return len(ep.queue) == 1 })
		p.ep.Close()
		waitFor(t, func() bool { return len(ep.queue) == 0 })
		r.notFreed() // the provider has flushed it, but has not ended
		ep.flushed <- struct{}{}
		r.freed(3)
		ended(t, conn)
		r.notFreed()
		r.memoryBack()
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

// newAbandonedCall makes the call. meanwhile runs while it is under way.
func newAbandonedCall(t *testing.T, meanwhile func(a *abandonedCall)) *abandonedCall {
	t.Helper()
	a := &abandonedCall{t: t}
	wrap := func(ep transport.Endpoint) transport.Endpoint {
		a.ep = heldInvalidations(ep)
		return a.ep
	}
	a.c, a.p = rawServerOn(t, rpcrdma.Config{}, inline4k, wrap)
	t.Cleanup(func() { close(a.ep.flushed) })
	a.domain = a.p.ep.Domain().(*loopback.Domain)
	callAnswered(t, a.c, a.p) // grants more than one credit
	a.ep.holding.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	s := start(ctx, a.c, &items{data: [][]byte{make([]byte, 9000)}}, nil)
	a.h, _ = a.p.next()
	meanwhile(a)
	cancel()
	checkEnd(t, wait(t, s.err), context.Canceled)
	return a
}

// alike makes n calls like it at a time, and reports whether they take memory that was
// not in use before.
func (a *abandonedCall) alike(n int) (fresh bool) {
	a.t.Helper()
	_, before := a.domain.Allocated()
	var calls []*started
	var xids []uint32
	for range n {
		args := &items{data: [][]byte{make([]byte, 9000)}}
		calls = append(calls, start(a.t.Context(), a.c, args, nil))
		h, _ := a.p.next()
		xids = append(xids, h.XID)
	}
	_, after := a.domain.Allocated()
	for i, s := range calls {
		a.p.answer(xids[i])
		if err := wait(a.t, s.err); err != nil {
			a.t.Fatal(err)
		}
	}
	return after-before >= 9000
}

// answerInvalidate is answer that ends the window of s.
func (p *rawPeer) answerInvalidate(xid uint32, s chunks.Segment) {
	p.t.Helper()
	b := append(header(xid, rpcrdma.TypeMsg).Append(nil), replyHeader(xid)...)
	p.do(transport.WorkRequest{
		Op: transport.OpSendInvalidate, Invalidate: transport.STag(s.Handle),
		Local: []transport.Slice{{Bytes: append(b, be32(0, 7)...)}},
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
	nothing := func(*abandonedCall) {}
	t.Run("all windows", func(t *testing.T) {
		a := newAbandonedCall(t, nothing)
		a.p.answer(a.h.XID)
		waitFor(t, func() bool { return len(a.ep.queue) == 2 })
		a.p.write(a.h.Reply[0], make([]byte, 100)) // allowed as long as the window exists
		a.ends(2)
	})
	t.Run("one is ended by the peer", func(t *testing.T) {
		a := newAbandonedCall(t, nothing)
		a.p.answerInvalidate(a.h.XID, a.h.Reply[0])
		a.ends(1)
	})
	t.Run("one is ended by the reply to another call", func(t *testing.T) {
		a := newAbandonedCall(t, func(a *abandonedCall) {
			s := start(t.Context(), a.c, &items{}, nil)
			other, _ := a.p.next()
			a.p.answerInvalidate(other.XID, a.h.Reads[0].Segment)
			if err := wait(t, s.err); err != nil {
				t.Fatal(err)
			}
		})
		a.p.answer(a.h.XID)
		a.ends(1)
	})
	t.Run("the connection ends", func(t *testing.T) {
		a := newAbandonedCall(t, nothing)
		a.p.answer(a.h.XID)
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
