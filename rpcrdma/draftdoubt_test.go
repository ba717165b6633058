package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// emptyReply is the reply to a call of no items.
func emptyReply(xid uint32) []byte { return append(replyHeader(xid), be32(0, 7)...) }

// TestOurXIDInTheirCall: the peer makes a long call with the XID of our pending call, whose reply
// comes earlier, later, or after a cancellation (docs/readings.md, 8). In the Draft the call looks
// like a long reply until its message is here.
func TestOurXIDInTheirCall(t *testing.T) {
	for _, tt := range []struct {
		name      string
		reply     string // when ours comes
		cancelled bool   // ours
		writes    bool   // offered in theirs
	}{
		{name: "reply later", reply: "later"},
		{name: "reply with a read list while the call is read", reply: "reads"},
		{name: "cancelled, reply while the call is read", reply: "meanwhile", cancelled: true},
		{name: "with a write list", reply: "meanwhile", writes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newBothWays(t, rpcrdma.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := start(ctx, r.c, &items{}, nil)
			h, _ := r.next()
			if tt.cancelled {
				cancel()
				if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			data := pattern(3, 3000)
			want := data
			theirs := header(h.XID, rpcrdma.TypeNoMsg)
			message := callBytes(h.XID, procEcho, &items{data: [][]byte{data}, tail: 7})
			theirs.Reads = r.readSegments(0, message)
			if tt.writes {
				theirs.AddWrite(
					[]chunks.Segment{r.expose(make([]byte, 8000), transport.RemoteWrite)})
				want = result(h.XID, len(data))[24:]
			}
			r.send(theirs)
			answer := func() { r.send(header(h.XID, rpcrdma.TypeMsg), emptyReply(h.XID)) }
			switch tt.reply {
			case "meanwhile":
				answer()
			case "reads":
				r.long(h.XID, emptyReply(h.XID))
			}
			clientWorksBeside(t, r.c, r.rawPeer) // arrives after it
			wantDones := uint64(0)
			r.held.release(t, 1)
			got, body := r.next()
			if got.Type != rpcrdma.TypeMsg || got.XID != h.XID || !bytes.Contains(body, want) {
				t.Errorf("answer %+v to the peer's call, or it differs", got)
			}
			switch tt.reply {
			case "later":
				if len(s.err) > 0 {
					t.Error("the call ended without its reply")
				}
				answer()
			case "reads":
				r.held.release(t, 1)
				r.nextDone(h.XID, 64)
				wantDones = 1
			}
			if !tt.cancelled {
				if err := wait(t, s.err); err != nil {
					t.Errorf("our call: %v", err)
				}
			}
			clientWorks(t, r.c, r.rawPeer)
			if got := r.c.Stats(); got.DonesSent != wantDones || got.UnknownXID+got.Malformed != 0 {
				t.Errorf("counters %+v", got)
			}
			r.checkReceives()
		})
	}
}

// TestManyInDoubt: the peer sends too many long messages with the XID of one of our pending calls.
// Two are fetched at a time for each such call. Others are dropped.
func TestManyInDoubt(t *testing.T) {
	r := newBothWays(t, rpcrdma.Config{})
	s, xid := r.pending()
	other, otherXID := r.pending()
	data := pattern(1, 500)
	for range 3 {
		r.echo(xid, data) // the third is dropped
	}
	r.echo(otherXID, data)
	clientWorksBeside(t, r.c, r.rawPeer) // arrives after them
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 1 || len(r.held.queue) != 3 {
		t.Errorf("%d messages fetched, want 3; counters %+v", len(r.held.queue), got)
	}
	for _, want := range []uint32{xid, xid, otherXID} {
		r.held.release(t, 1)
		r.echoed(want, data)
	}
	r.echo(xid, data) // now there is room for it
	r.held.release(t, 1)
	r.echoed(xid, data)
	r.answer(s, xid)
	r.answer(other, otherXID)
	clientWorks(t, r.c, r.rawPeer)
	r.alive()
	if got := r.c.Stats(); got.Malformed != 1 || got.CallsReceived != 6 ||
		got.UnknownXID+got.DonesSent != 0 {
		t.Errorf("counters %+v", got)
	}
	r.checkReceives()
}

// TestMemoryInDoubt: messages in doubt come while all memory for calls is in use. They are fetched
// one at a time, so that only one of them exceeds the budget. Replies do not wait for memory. A
// call does, like others.
func TestMemoryInDoubt(t *testing.T) {
	cfg := smallShare
	cfg.ServerMemory, cfg.Credits = cfg.ConnMemory, 64
	r := newBothWays(t, cfg)
	for i := range uint32(2) {
		h := header(0xb10c+i, rpcrdma.TypeMsg)
		h.SetReply([]chunks.Segment{r.expose(make([]byte, 65536), transport.RemoteWrite)})
		r.send(h, callBytes(h.XID, procBlock, &items{}))
		wait(t, r.program.entered)
	}
	goOn := func() {
		t.Helper()
		r.program.pass(t)
		if h, _ := r.next(); h.XID&^1 != 0xb10c {
			t.Errorf("answer to %#x, want one to a call that had the memory", h.XID)
		}
	}
	var calls [4]*started
	var xids [4]uint32
	for i := range calls {
		calls[i], xids[i] = r.pending()
	}
	for i := range 3 {
		r.long(xids[i], emptyReply(xids[i]))
	}
	data := pattern(1, 500)
	r.echo(xids[3], data)
	r.alive() // so all have arrived
	for i := range 3 {
		r.wantReads(1)
		r.held.release(t, 1)
		r.nextDone(xids[i], 64)
		if err := wait(t, calls[i].err); err != nil {
			t.Errorf("our call: %v", err)
		}
	}
	r.held.release(t, 1)
	waitFor(t, func() bool { return r.c.Stats().Waited == 1 || len(r.msgs) > 0 })
	goOn()
	r.held.release(t, 1) // it waited for memory, and is fetched again
	r.echoed(xids[3], data)
	r.answer(calls[3], xids[3])
	goOn()
	r.alive()
	newMemoryProbe(t, cfg, r.program, nil).check(r.rawPeer)
	clientWorks(t, r.c, r.rawPeer)
	r.checkReceives()
}

// TestGrantsInDoubt: a message in doubt turns out to be a call. It counts as one in grants.
func TestGrantsInDoubt(t *testing.T) {
	r := newBothWays(t, rpcrdma.Config{})
	s, xid := r.pending()
	data := pattern(1, 500)
	r.echo(xid, data)
	r.source(0xca11, 1, 5001)
	r.done(0xca11)
	r.held.release(t, 1)
	r.echoed(xid, data)
	r.answer(s, xid)
	wait(t, r.program.freed)
	r.alive()
	r.checkReceives()
}
