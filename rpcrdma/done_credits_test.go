package rpcrdma_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestGrantsWhileReading: a reply lowers the grant while an earlier one is still being read. When
// that is done, the later grant stays in force.
func TestGrantsWhileReading(t *testing.T) {
	for _, serves := range []bool{false, true} {
		for _, second := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg} {
			t.Run(fmt.Sprintf("serves %v, then %v", serves, second), func(t *testing.T) {
				made, hold := heldReads()
				c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, hold)
				held := wait(t, made)
				if serves { // then a message at position zero might be a call
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				clientWorks(t, c, p)
				calls := []*started{start(t.Context(), c, &items{}, nil)}
				h, _ := p.next()
				calls = append(calls, start(t.Context(), c, &items{}, nil))
				h2, _ := p.next()
				answer := func(xid, credits uint32, typ rpcrdma.Type) {
					r := header(xid, typ)
					r.Credits = credits
					m := append(replyHeader(xid), be32(0, 7)...)
					if typ == rpcrdma.TypeNoMsg {
						r.Reads = p.readSegments(0, m)
						p.send(r)
					} else {
						p.send(r, m)
					}
				}
				answer(h.XID, 30, rpcrdma.TypeNoMsg)
				answer(h2.XID, 2, second)
				if second == rpcrdma.TypeMsg {
					if err := wait(t, calls[1].err); err != nil {
						t.Error(err)
					}
					calls = calls[:1]
				}
				held.release(t, len(calls))
				for _, s := range calls {
					if err := wait(t, s.err); err != nil {
						t.Error(err)
					}
				}
				if grant, _, _ := c.Credits(); grant != 2 {
					t.Errorf("the grant in force is %d, want 2", grant)
				}
			})
		}
	}
}

// TestDoneTakesCredit checks that an RDMA_DONE counts as a request until the reply to a later call
// shows that it was taken (draft section 3.8).
func TestDoneTakesCredit(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k)
	answer := func(h *rpcrdma.Header, reads bool) {
		r := header(h.XID, rpcrdma.TypeMsg)
		r.Credits = 2
		if reads {
			r.Reads = p.readSegments(36, make([]byte, 100))
			p.send(r, result(h.XID, 100))
		} else {
			p.send(r, replyHeader(h.XID), be32(0, 7))
		}
	}
	first := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	answer(h, true)
	if err := wait(t, first.err); err != nil {
		t.Fatal(err)
	}
	p.nextDone(h.XID, 64)
	if grant, used, _ := c.Credits(); grant != 2 || used != 1 {
		t.Errorf("%d credits in use of %d, want 1 of 2", used, grant)
	}
	var calls []*started
	for range 3 {
		calls = append(calls, start(t.Context(), c, &items{}, nil))
	}
	waitFor(t, func() bool { _, used, waiting := c.Credits(); return used == 2 && waiting == 2 })
	h, _ = p.next()
	if len(p.msgs) > 0 {
		t.Error("two calls beside an RDMA_DONE, and 2 credits")
	}
	answer(h, false)
	var last []*rpcrdma.Header
	for range 2 {
		h, _ = p.next()
		last = append(last, h)
	}
	if _, used, _ := c.Credits(); used != 2 {
		t.Errorf("%d credits in use, want 2", used)
	}
	for _, h := range last {
		answer(h, false)
	}
	for _, s := range calls {
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
	}
}
