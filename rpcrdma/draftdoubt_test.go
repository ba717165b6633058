package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// doubtRig is a client of a raw server which it serves, too. A long message with the transaction id of a call of its own may be
// the reply or a call: that shows when the Read of the message is let go.
type doubtRig struct {
	*rawPeer
	c       *rpcrdma.Conn
	held    *heldReads
	program *program
}

func newDoubtRig(t *testing.T, cfg rpcrdma.Config) *doubtRig {
	holder := newReadHolder()
	cfg.Dialect = rpcrdma.Draft
	r := &doubtRig{program: newProgram()}
	r.c, r.rawPeer = rawServerOn(t, cfg, inline4k, holder.wrap)
	r.held = wait(t, holder.made)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(r.program.program())
	t.Cleanup(func() { back.Close() })
	r.c.Serve(back)
	goesOn(t, r.c, r.rawPeer)
	r.alive() // which grants the peer more than one call
	return r
}

// ours makes a call that the peer has got.
func (r *doubtRig) ours() (*started, uint32) {
	r.t.Helper()
	s := start(r.t.Context(), r.c, &items{}, nil)
	h, _ := r.next()
	return s, h.XID
}

// long has the peer send a long message.
func (r *doubtRig) long(xid uint32, message []byte) {
	r.t.Helper()
	h := header(xid, rpcrdma.TypeNoMsg)
	h.Reads = r.readSegments(0, message)
	r.send(h)
}

// echo has the peer make a long call.
func (r *doubtRig) echo(xid uint32, data []byte) {
	r.t.Helper()
	r.long(xid, callBytes(xid, procEcho, &items{data: [][]byte{data}, tail: 7}))
}

// echoed checks that the next message is the reply to that.
func (r *doubtRig) echoed(xid uint32, data []byte) {
	r.t.Helper()
	h, body := r.next()
	if h.XID != xid || h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, echoReply(xid, data)) {
		r.t.Errorf("answer to the peer's call %d: %+v, or it differs", xid, h)
	}
}

// answer has the peer answer a call of ours.
func (r *doubtRig) answer(s *started, xid uint32) {
	r.t.Helper()
	r.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
	if err := wait(r.t, s.err); err != nil {
		r.t.Errorf("our call: %v", err)
	}
}

// settled checks that the receives posted are those accounted for, when no call is under way.
func (r *doubtRig) settled() {
	r.t.Helper()
	r.rawPeer.settled(r.theirs)
}

// TestManyInDoubt has the peer send more long messages with the transaction id of one call of ours than there can be. Two are fetched at a time,
// for each such call; what comes beyond is dropped.
func TestManyInDoubt(t *testing.T) {
	r := newDoubtRig(t, rpcrdma.Config{})
	s, xid := r.ours()
	other, otherXID := r.ours()
	data := [][]byte{pattern(1, 500), pattern(2, 600), pattern(3, 700), pattern(4, 800)}
	r.echo(xid, data[0])
	r.echo(xid, data[1])
	r.echo(xid, data[2]) // dropped
	r.echo(otherXID, data[3])
	goesBeside(t, r.c, r.rawPeer) // which comes behind them
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 1 || len(r.held.reads) != 3 {
		t.Errorf("%d messages fetched, want 3; counters %+v", len(r.held.reads), got)
	}
	for _, want := range []struct {
		xid  uint32
		data []byte
	}{{xid, data[0]}, {xid, data[1]}, {otherXID, data[3]}} {
		r.held.release(t, 1)
		r.echoed(want.xid, want.data)
	}
	r.echo(xid, data[2]) // there is room for it now
	r.held.release(t, 1)
	r.echoed(xid, data[2])
	r.answer(s, xid)
	r.answer(other, otherXID)
	goesOn(t, r.c, r.rawPeer)
	r.alive()
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 6 || got.UnknownXID != 0 || got.DonesSent != 0 {
		t.Errorf("counters %+v", got)
	}
	r.settled()
}

// TestGrantsInDoubt has a message be in doubt while another call of the peer's is answered, by a reply to be acknowledged. That one grants what
// it would otherwise, a call beside the RDMA_DONE: as far as one can tell, there is no other call under way.
func TestGrantsInDoubt(t *testing.T) {
	for _, tt := range []string{"none", "call", "reply"} {
		t.Run(tt, func(t *testing.T) {
			r := newDoubtRig(t, rpcrdma.Config{})
			s, xid := r.ours()
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
			goesOn(t, r.c, r.rawPeer)
			r.settled()
		})
	}
}

// TestMemoryInDoubt has a message in doubt come while all memory for calls is in use. When it proves to be a call it waits like others; when it proves to be our
// reply it does not.
func TestMemoryInDoubt(t *testing.T) {
	for _, tt := range []string{"call", "reply"} {
		t.Run(tt, func(t *testing.T) {
			cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 131072}
			r := newDoubtRig(t, cfg)
			for i := range uint32(2) {
				h := header(0xb10c+i, rpcrdma.TypeMsg)
				h.SetReply([]chunks.Segment{r.expose(make([]byte, 65536), transport.RemoteWrite)})
				r.send(h, callBytes(h.XID, procBlock, &items{}))
				wait(t, r.program.entered)
			}
			s, xid := r.ours()
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
				r.echoed(xid, data)
				r.answer(s, xid)
			}
			r.program.gate <- struct{}{}
			r.next()
			r.alive()
			newMemoryProbe(t, cfg, r.program, nil).check(r.rawPeer)
			goesOn(t, r.c, r.rawPeer)
			r.settled()
		})
	}
}

// TestReplyTakenForCall has a long message be taken for a call, as no call of this side has its transaction id, until it is here and turns out to be a reply. It leaves nothing
// behind in the account of grants.
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
			if p.settled(r.ledgers.of(t, conn)); p.granted != 4 {
				t.Errorf("granted %d, want 4", p.granted)
			}
		})
	}
}
