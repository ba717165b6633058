package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestOurXIDInTheirCall: the peer makes a long call with the XID of our pending call, whose reply
// comes earlier, later, or after a cancellation (docs/readings.md, 8). In the Draft the call looks
// like a long reply until its message is here.
func TestOurXIDInTheirCall(t *testing.T) {
	for _, tt := range []struct {
		name               string
		reply              string // when ours comes
		cancelled          bool   // ours
		replyChunk, writes bool   // offered in theirs
	}{
		{name: "reply later", reply: "later"},
		{name: "reply while the call is read", reply: "meanwhile"},
		{name: "reply with a read list while the call is read", reply: "reads"},
		{name: "cancelled", reply: "later", cancelled: true},
		{name: "cancelled, reply while the call is read", reply: "meanwhile", cancelled: true},
		{name: "with a reply chunk", reply: "later", replyChunk: true},
		{name: "with a write list", reply: "meanwhile", writes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made, hold := heldReads()
			c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, hold)
			held := wait(t, made)
			back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
			back.Handle(newProgram().program())
			defer back.Close()
			c.Serve(back)
			clientWorks(t, c, p)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := start(ctx, c, &items{}, nil)
			h, _ := p.next()
			if tt.cancelled {
				cancel()
				if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			data := pattern(3, 3000)
			long := header(h.XID, rpcrdma.TypeNoMsg)
			long.Credits = 50
			long.Reads = p.readSegments(0, callBytes(h.XID, procEcho, &items{data: [][]byte{data}, tail: 7}))
			if tt.replyChunk {
				long.SetReply([]chunks.Segment{p.expose(make([]byte, 8000), transport.RemoteWrite)})
			}
			if tt.writes {
				long.AddWrite([]chunks.Segment{p.expose(make([]byte, 8000), transport.RemoteWrite)})
			}
			p.send(long)
			answer := func() { p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7)) }
			switch tt.reply {
			case "meanwhile":
				answer()
			case "reads":
				r := header(h.XID, rpcrdma.TypeNoMsg)
				r.Reads = p.readSegments(0, append(replyHeader(h.XID), be32(0, 7)...))
				p.send(r)
			}
			clientWorksBeside(t, c, p) // arrives after it
			held.holding.Store(false)
			for len(held.queue) > 0 {
				held.release(t, 1)
			}
			got, body := p.next()
			wantDones := uint64(0)
			if tt.reply == "reads" {
				wantDones = 1
				done, second := p.next()
				if got.Type == rpcrdma.TypeDone { // in either order
					got, body, done = done, second, got
				}
				if done.Type != rpcrdma.TypeDone || done.XID != h.XID {
					t.Errorf("%v, want RDMA_DONE", done.Type)
				}
			}
			if got.Type != rpcrdma.TypeMsg || got.XID != h.XID {
				t.Fatalf("answer to the peer's call: %v", got.Type)
			}
			want := data
			if tt.writes {
				want = result(h.XID, len(data))[24:]
			}
			if !bytes.Contains(body, want) {
				t.Error("answer to the peer's call differs")
			}
			if tt.reply == "later" {
				if len(s.err) > 0 {
					t.Error("the call ended without its reply")
				}
				answer()
			}
			if !tt.cancelled {
				if err := wait(t, s.err); err != nil {
					t.Errorf("our call: %v", err)
				}
			}
			clientWorks(t, c, p)
			if got := c.Stats(); got.DonesSent != wantDones || got.UnknownXID != 0 || got.Malformed != 0 || got.CallsReceived != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// TestBothWaysReads: two real ends call each other with the same XIDs, in long calls with long
// replies.
func TestBothWaysReads(t *testing.T) {
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, NoReplyChunks: true, MinChunk: 1 << 20}
	r := newRig(t, cfg)
	c := r.dial(cfg)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	conn := wait(t, r.program.conns)
	const calls, size = 100, 9000
	var wg sync.WaitGroup
	for i := range uint32(calls) {
		for _, from := range []*rpcrdma.Conn{c, conn} {
			wg.Go(func() {
				m := callMessage(0, procEcho, &items{data: [][]byte{pattern(uint64(i), size)}, tail: i})
				x := oncrpc.Exchange{Call: m, MaxReply: 2 * size, XID: 1000 + i}
				if err := from.RoundTrip(t.Context(), &x); err != nil {
					t.Error(err)
					return
				}
				if got := x.Reply.Raw(24); !bytes.Equal(got, replyHeader(1000+i)) {
					t.Errorf("reply % x", got)
				}
				var got items
				got.UnmarshalXDR(&x.Reply)
				if got.tail != i || len(got.data) != 1 || !bytes.Equal(got.data[0], pattern(uint64(i), size)) {
					t.Error("reply differs")
				}
				x.Release()
			})
		}
	}
	hang.Wait(t, "the callers", &wg)
	for _, end := range []*rpcrdma.Conn{c, conn} {
		waitFor(t, func() bool { return end.Stats().DonesReceived == calls })
		if got := end.Stats(); got.DonesSent != calls || got.DonesIgnored != 0 || got.UnknownXID != 0 {
			t.Errorf("counters %+v", got)
		}
	}
}

// newSlowRig is a rig, and the endpoints of its server, whose Sends can be made slow.
func newSlowRig(t testing.TB, cfg rpcrdma.Config) (*rig, chan *slowSends) {
	made := make(chan *slowSends, 1024)
	return newRigOn(t, cfg, loopback.Config{}, func(ep transport.Endpoint) transport.Endpoint {
		e := &slowSends{Endpoint: ep, held: make(chan func(), 1024)}
		made <- e
		return e
	}), made
}

// source asks for items and returns the reply's header.
func (p *rawPeer) source(xid, count, size uint32) *rpcrdma.Header {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procSource, &source{count, size}))
	h, _ := p.next()
	if h.XID != xid || len(h.Reads) == 0 {
		p.t.Fatalf("answer %+v, want a reply with a read list", h)
	}
	return h
}
