package rpcrdma_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// deafPeer connects a client that takes nothing: its calls arrive, but neither RDMA Reads nor
// replies get to it. It has one call answered, as far as it goes, and so has 64 credits.
func (r *rig) deafPeer() (transport.Endpoint, *rpcrdma.Conn) {
	r.t.Helper()
	ep := r.endpoint(inline4k)
	r.t.Cleanup(func() { ep.Close() })
	h := header(1, rpcrdma.TypeMsg)
	h.Credits = 64
	shout(r.t, ep, append(h.Append(nil), callBytes(1, procNull, nil)...))
	conn := wait(r.t, r.program.conns)
	waitFor(r.t, func() bool { return r.ledgers.of(r.t, conn).state().Awaited >= 64 })
	return ep, conn
}

// shout sends a message.
func shout(t testing.TB, ep transport.Endpoint, b []byte) {
	t.Helper()
	wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
		Done: make(completer, 1), Local: []transport.Slice{{Bytes: b}}}
	if err := ep.Post(&wr); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, wr.Done.(completer)); err != nil {
		t.Fatal(err)
	}
}

// TestStalledReads: peers make calls with arguments to fetch, and never answer the RDMA Reads.
// Others are not held up, and the calls end.
func TestStalledReads(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{PeerTimeout: 500 * time.Millisecond})
		var conns []*rpcrdma.Conn
		for range 5 { // 5 x 64 calls are more than the server has workers
			ep, conn := r.deafPeer()
			conns = append(conns, conn)
			for xid := range uint32(64) {
				m := callMessage(100+xid, procSink, &items{data: [][]byte{make([]byte, 8)}})
				h := header(100+xid, rpcrdma.TypeMsg)
				h.Credits = 64
				h.Reads = []chunks.ReadSegment{{Position: uint32(m.Bulk[0].Position), Segment: chunks.Segment{Handle: 1, Length: 8}}}
				shout(t, ep, append(h.Append(nil), m.Inline...))
			}
		}
		waitFor(t, func() bool { return r.server.Stats().InFlight == 5*65 })
		c := r.dial(rpcrdma.Config{})
		if err := client(c).Do(context.Background(), &oncrpc.Request{Procedure: procSink, Args: &items{data: [][]byte{{1}}}}); err != nil {
			t.Errorf("an innocent client: %v", err)
		}
		for _, conn := range conns {
			ended(t, conn)
			if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
				t.Errorf("ended with %v", err)
			}
		}
		waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
	})
}

// TestStalledReplies: a peer does not take its replies.
func TestStalledReplies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{PeerTimeout: 50 * time.Millisecond})
		_, conn := r.deafPeer()
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestRefusedReservesNothing checks that a refused call does not give back memory that it never
// had.
func TestRefusedReservesNothing(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	p.alive()
	for i := range uint32(10) {
		h := header(i, rpcrdma.TypeMsg)
		h.Reads = []chunks.ReadSegment{{Position: 0, Segment: chunks.Segment{Handle: 1, Length: 4 << 20}}}
		p.send(h, callBytes(i, procNull, nil))
		if h, _ := p.next(); h.Type != rpcrdma.TypeError {
			t.Fatal(h.Type)
		}
	}
	p.alive() // its reply comes after the ends of the others
	r.memoryBack(p)
}

// TestServeContext ends the context of a Serve whose listener is closed already.
func TestServeContext(t *testing.T) {
	f := loopback.New()
	l, err := f.Listen(rigAddr, loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	defer srv.Close()
	srv.Handle(newProgram().program())
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{Logger: quiet}) }()
	c, err := rpcrdma.Dial(context.Background(), f.Dialer(loopback.Config{}), rigAddr,
		rpcrdma.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := client(c).Call(ctx, procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := client(c).Call(ctx, procNull, nil, nil); err != nil {
		t.Errorf("after the listener was closed: %v", err)
	}
	cancel()
	if err := wait(t, served); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	ended(t, c)
}

// TestLinuxSizedReply checks that a client with small inline sizes posts receives that hold what
// Linux's server sends regardless.
func TestLinuxSizedReply(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{InlineRecv: 1024}, inline4k)
	s := start(context.Background(), c, &items{}, nil)
	h, _ := p.next()
	m := callMessage(0, procEcho, &items{data: [][]byte{pattern(1, 3000)}, tail: 7})
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), m.AppendTo(nil)[40:])
	if err := wait(t, s.err); err != nil {
		t.Error(err)
	}
}

// TestLongCallWithOurXID: the peer makes a long call with the XID of our pending call
// (docs/readings.md, 8).
func TestLongCallWithOurXID(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	s := start(context.Background(), c, &items{}, nil)
	h, _ := p.next()
	long := header(h.XID, rpcrdma.TypeNoMsg)
	long.Reads = []chunks.ReadSegment{{Segment: p.expose(callBytes(h.XID, procNull, nil), transport.RemoteRead)}}
	p.send(long)
	if got, _ := p.next(); got.Type != rpcrdma.TypeMsg || got.XID != h.XID {
		t.Errorf("answer to the peer's call: %v", got.Type)
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("our call: %v", err)
	}
}

// abandonFails is an endpoint that cannot abandon memory after all.
type abandonFails struct{ transport.Endpoint }

func (abandonFails) Abandon(transport.Region) error { return transport.ErrNoMemory }

// TestAbandonFails cancels a call whose memory cannot be abandoned.
func TestAbandonFails(t *testing.T) {
	wrap := func(ep transport.Endpoint) transport.Endpoint { return abandonFails{ep} }
	c, p := rawServerOn(t, rpcrdma.Config{CancelGrace: time.Millisecond}, inline4k, wrap)
	ctx, cancel := context.WithCancel(context.Background())
	land := make([]byte, 9000)
	s := start(ctx, c, &items{data: [][]byte{make([]byte, 9000)}}, land)
	p.next()
	cancel()
	if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-c.Endpoint().Done():
	default:
		t.Error("the call returned while the peer can reach its memory")
	}
}

// TestOddMaxReply: a reply fills its room to the last byte, although that is no multiple of four.
func TestOddMaxReply(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	var reply items
	const size = 9001
	req := oncrpc.Request{Procedure: procSource, Args: &source{1, size}, Reply: &reply,
		MaxReply: 16 + size}
	if err := client(c).Do(context.Background(), &req); err != nil {
		t.Error(err)
	}
}

// TestTrailingEmptyResult checks that an empty buffer after one with a write chunk gets none,
// because Linux's server refuses chunks without segments.
func TestTrailingEmptyResult(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	done := make(chan error, 1)
	req := oncrpc.Request{Procedure: procSink, Results: [][]byte{make([]byte, 9000), nil, {}}}
	go func() { done <- client(c).Do(context.Background(), &req) }()
	h, _ := p.next()
	if len(h.Writes) != 1 || h.Writes[0].Len() != 9000 {
		t.Errorf("write list %v", h.Writes)
	}
	segs, _ := chunks.Distribute(nil, h.Writes[0], 0)
	r := header(h.XID, rpcrdma.TypeMsg)
	r.AddWrite(segs)
	p.send(r, replyHeader(h.XID))
	if err := wait(t, done); err != nil {
		t.Error(err)
	}
}

// TestEmptyResultAmid: an empty buffer comes before one with a write chunk. It gets a chunk, too,
// to keep its place, with a segment, because Linux's server refuses chunks without segments.
func TestEmptyResultAmid(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	done := make(chan error, 1)
	req := oncrpc.Request{Procedure: procSink, Results: [][]byte{nil, make([]byte, 9000)}}
	go func() { done <- client(c).Do(context.Background(), &req) }()
	h, _ := p.next()
	if len(h.Writes) != 2 || len(h.Writes[0]) != 1 || h.Writes[0].Len() != 0 || h.Writes[1].Len() != 9000 {
		t.Errorf("write list %v", h.Writes)
	}
	r := header(h.XID, rpcrdma.TypeMsg)
	for _, w := range h.Writes {
		segs, _ := chunks.Distribute(nil, w, 0)
		r.AddWrite(segs)
	}
	p.send(r, replyHeader(h.XID))
	if err := wait(t, done); err != nil {
		t.Error(err)
	}
}

// TestEmptyResultBuffer offers an empty buffer together with one that has a write chunk.
func TestEmptyResultBuffer(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	c := r.dial(rpcrdma.Config{})
	reply := items{data: [][]byte{nil, make([]byte, 9000)}}
	req := oncrpc.Request{Procedure: procEcho, Args: &items{data: [][]byte{{1, 2, 3}, pattern(1, 9000)}}, Reply: &reply, Results: reply.data, MaxReply: 32}
	if err := client(c).Do(context.Background(), &req); err != nil {
		t.Error(err)
	}
	if len(reply.data) != 2 || string(reply.data[0]) != "\x01\x02\x03" || string(reply.data[1]) != string(pattern(1, 9000)) {
		t.Error("results differ")
	}
}
