package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestManyInDoubt: the peer sends too many long messages with the XID of one of our pending calls.
// Two are fetched at a time for each such call. Others are dropped.
func TestManyInDoubt(t *testing.T) {
	r := newBothWays(t, rpcrdma.Config{})
	s, xid := r.pending()
	other, otherXID := r.pending()
	data := [][]byte{pattern(1, 500), pattern(2, 600), pattern(3, 700), pattern(4, 800)}
	r.echo(xid, data[0])
	r.echo(xid, data[1])
	r.echo(xid, data[2]) // dropped
	r.echo(otherXID, data[3])
	clientWorksBeside(t, r.c, r.rawPeer) // arrives after them
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 1 || len(r.held.queue) != 3 {
		t.Errorf("%d messages fetched, want 3; counters %+v", len(r.held.queue), got)
	}
	for _, want := range []struct {
		xid  uint32
		data []byte
	}{{xid, data[0]}, {xid, data[1]}, {otherXID, data[3]}} {
		r.held.release(t, 1)
		r.echoed(want.xid, want.data)
	}
	r.echo(xid, data[2]) // now there is room for it
	r.held.release(t, 1)
	r.echoed(xid, data[2])
	r.answer(s, xid)
	r.answer(other, otherXID)
	clientWorks(t, r.c, r.rawPeer)
	r.alive()
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 6 || got.UnknownXID != 0 || got.DonesSent != 0 {
		t.Errorf("counters %+v", got)
	}
	r.checkReceives()
}

// TestGrantsInDoubt: a message is in doubt while another call of the peer is answered by a reply
// with a read list. That grants the same as otherwise, one call beside the RDMA_DONE, because no
// other call is known to be under way.
func TestGrantsInDoubt(t *testing.T) {
	for _, tt := range []string{"none", "call", "reply"} {
		t.Run(tt, func(t *testing.T) {
			r := newBothWays(t, rpcrdma.Config{})
			s, xid := r.pending()
			data := pattern(1, 500)
			switch tt {
			case "call":
				r.echo(xid, data)
			case "reply":
				r.long(xid, append(replyHeader(xid), be32(0, 7)...))
			}
			asks := header(0xca11, rpcrdma.TypeMsg)
			asks.Credits = 1
			r.send(asks, callBytes(asks.XID, procSource, &source{1, 5001}))
			h, _ := r.next()
			if h.XID != asks.XID || len(h.Reads) != 1 || h.Credits != 2 {
				t.Errorf("answer %+v, want a read list and 2 credits", h)
			}
			switch tt {
			case "none":
				r.answer(s, xid)
			case "call":
				r.held.release(t, 1)
				r.echoed(xid, data)
				r.answer(s, xid)
			case "reply":
				r.held.release(t, 1)
				r.nextDone(xid, 64)
				if err := wait(t, s.err); err != nil {
					t.Errorf("our call: %v", err)
				}
			}
			r.done(asks.XID)
			wait(t, r.program.freed)
			r.alive()
			clientWorks(t, r.c, r.rawPeer)
			r.checkReceives()
		})
	}
}

// TestMemoryInDoubt: a message in doubt comes while all memory for calls is in use. If it turns out
// to be a call, it waits like others. If it is our reply, it does not wait.
func TestMemoryInDoubt(t *testing.T) {
	for _, tt := range []string{"call", "reply"} {
		t.Run(tt, func(t *testing.T) {
			cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072,
				ServerMemory: 131072}
			r := newBothWays(t, cfg)
			for i := range uint32(2) {
				h := header(0xb10c+i, rpcrdma.TypeMsg)
				h.SetReply([]chunks.Segment{r.expose(make([]byte, 65536), transport.RemoteWrite)})
				r.send(h, callBytes(h.XID, procBlock, &items{}))
				wait(t, r.program.entered)
			}
			s, xid := r.pending()
			data := pattern(1, 500)
			if tt == "reply" {
				r.long(xid, append(replyHeader(xid), be32(0, 7)...))
				r.held.release(t, 1)
				r.nextDone(xid, 64)
				if err := wait(t, s.err); err != nil {
					t.Errorf("our call: %v", err)
				}
			} else {
				r.echo(xid, data)
				r.held.release(t, 1)
				waitFor(t, func() bool { return r.c.Stats().Waited == 1 || len(r.msgs) > 0 })
				if len(r.msgs) > 0 {
					t.Error("the call did not wait for memory")
				}
			}
			r.program.gate <- struct{}{}
			if h, _ := r.next(); h.XID != 0xb10c && h.XID != 0xb10d {
				t.Errorf("answer to %#x, want one to a call that had the memory", h.XID)
			}
			if tt == "call" {
				r.held.release(t, 1) // it waited for memory, and is fetched again
				r.echoed(xid, data)
				r.answer(s, xid)
			}
			r.program.gate <- struct{}{}
			r.next()
			r.alive()
			newMemoryProbe(t, cfg, r.program, nil).check(r.rawPeer)
			clientWorks(t, r.c, r.rawPeer)
			r.checkReceives()
		})
	}
}

// TestMemoryInDoubtOneByOne: messages in doubt come while all memory for calls is in use. They are
// fetched one at a time, so that only one of them exceeds the budget.
func TestMemoryInDoubtOneByOne(t *testing.T) {
	cfg := rpcrdma.Config{
		Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 131072,
	}
	r := newBothWays(t, cfg)
	for i := range uint32(2) {
		h := header(0xb10c+i, rpcrdma.TypeMsg)
		h.SetReply([]chunks.Segment{r.expose(make([]byte, 65536), transport.RemoteWrite)})
		r.send(h, callBytes(h.XID, procBlock, &items{}))
		wait(t, r.program.entered)
	}
	var calls []*started
	var xids []uint32
	for range 3 {
		s, xid := r.pending()
		calls, xids = append(calls, s), append(xids, xid)
	}
	for _, xid := range xids {
		r.long(xid, append(replyHeader(xid), be32(0, 7)...))
	}
	r.alive() // so all have arrived
	for i, s := range calls {
		waitFor(t, func() bool { return len(r.held.queue) > 0 })
		if n := len(r.held.queue); n != 1 {
			t.Errorf("%d messages in doubt are fetched at a time, want 1", n)
		}
		r.held.release(t, 1)
		r.nextDone(xids[i], 64)
		if err := wait(t, s.err); err != nil {
			t.Errorf("our call: %v", err)
		}
	}
	for range 2 {
		r.program.gate <- struct{}{}
		r.next()
	}
	newMemoryProbe(t, cfg, r.program, nil).check(r.rawPeer)
	r.checkReceives()
}

// TestReplyTakenForCall: a long message is taken for a call, because no pending call has its XID.
// When it has been fetched it turns out to be a reply. It does not count in the account of grants:
// neither its receive, nor as a call under way, with which a reply with a read list would grant no
// credit beside that of the RDMA_DONE.
func TestReplyTakenForCall(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 4})
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			for xid := range uint32(10) {
				h := header(xid, rpcrdma.TypeNoMsg)
				h.Reads = p.readSegments(0, echoReply(xid, pattern(1, 5000)))
				p.send(h)
				waitFor(t, func() bool { return conn.Stats().UnknownXID == 1+uint64(xid) })
			}
			p.alive()
			if p.checkReceives(r.ledgers.of(t, conn)); p.granted != 4 {
				t.Errorf("granted %d, want 4", p.granted)
			}
			if d != rpcrdma.Draft {
				return
			}
			asks := header(0xca11, rpcrdma.TypeMsg)
			asks.Credits = 1
			p.send(asks, callBytes(asks.XID, procSource, &source{1, 5001}))
			h, _ := p.next()
			if h.XID != asks.XID || len(h.Reads) == 0 || h.Credits != 2 {
				t.Errorf("answer %+v, want a read list and 2 credits", h)
			}
			p.done(asks.XID)
			wait(t, r.program.freed)
		})
	}
}
