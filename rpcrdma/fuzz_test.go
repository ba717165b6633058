package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// offer sends a message if the connection has not ended.
func (p *rawPeer) offer(msg []byte) {
	p.t.Helper()
	wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Done: make(completer, 1), Local: []transport.Slice{{Bytes: msg}}}
	if err := p.ep.Post(&wr); err == nil {
		wait(p.t, wr.Done.(completer))
	} else if !errors.Is(err, net.ErrClosed) {
		p.t.Fatal(err)
	}
}

// drain discards what the program has recorded, because full channels would stop it.
func (p *program) drain() {
	for len(p.entered) > 0 {
		<-p.entered
	}
	for len(p.freed) > 0 {
		<-p.freed
	}
	for len(p.calls) > 0 {
		<-p.calls
	}
}

// FuzzServer sends two arbitrary messages to a server of either dialect. The server neither panics
// nor stops serving, and other connections are not affected. A message that makes it read or write
// memory that does not exist ends its own connection.
func FuzzServer(f *testing.F) {
	var last []byte
	seed := func(h *rpcrdma.Header, body []byte) {
		msg := append(h.Append(nil), body...)
		for _, draft := range []bool{false, true} {
			f.Add(last, msg, draft)
		}
		last = msg
	}
	seed(header(1, rpcrdma.TypeMsg), callBytes(1, procEcho, &items{data: [][]byte{{1, 2, 3}}}))
	seed(&rpcrdma.Header{XID: 1, Version: 2}, callBytes(1, procNull, nil))
	h := header(2, rpcrdma.TypeMsg)
	h.Reads = []chunks.ReadSegment{{Position: 52, Segment: chunks.Segment{Handle: 1, Length: 5000}}}
	h.AddWrite([]chunks.Segment{{Handle: 2, Length: 5000, Offset: 4096}})
	h.SetReply([]chunks.Segment{{Handle: 2, Length: 5000, Offset: 4096}})
	seed(h, callBytes(2, procSource, &source{1, 500}))
	h = header(3, rpcrdma.TypeNoMsg)
	h.Reads = []chunks.ReadSegment{{Segment: chunks.Segment{Handle: 1}}, {Segment: chunks.Segment{Handle: 1, Length: 40}}}
	seed(h, nil)
	seed(&rpcrdma.Header{XID: 1, Version: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers}, nil)
	seed(header(4, rpcrdma.TypeDone), nil)
	h = header(5, rpcrdma.TypeMsgP)
	h.Align, h.Threshold = 64, 3
	seed(h, callBytes(5, procEcho, &items{data: [][]byte{{1, 2, 3}}}))

	rigs := map[bool]*rig{false: newRig(f, rpcrdma.Config{}), true: newRig(f, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64})}
	witnesses := map[bool]*rawPeer{}
	for draft, r := range rigs {
		witnesses[draft] = r.raw(inline4k)
	}
	// In the Draft dialect, a reply to be read, and its acknowledgement.
	seed(header(6, rpcrdma.TypeMsg), callBytes(6, procSource, &source{1, 5000}))
	seed(header(6, rpcrdma.TypeDone), nil)

	f.Fuzz(func(t *testing.T, first, second []byte, draft bool) {
		if len(first) > 4096 || len(second) > 4096 {
			return
		}
		r, witness := rigs[draft], witnesses[draft]
		r.t = t
		p := r.raw(inline4k)
		p.offer(first)
		p.offer(second) // possibly one more than granted
		// Whatever comes back, this reply does too, unless the connection has ended.
		const xid = 0x12345678
		b := append(header(xid, rpcrdma.TypeMsg).Append(nil), callBytes(xid, procNull, nil)...)
		wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Done: make(completer, 1), Local: []transport.Slice{{Bytes: b}}}
		if p.ep.Post(&wr) == nil {
			wait(t, wr.Done.(completer))
			for answered := false; !answered; {
				select {
				case m := <-p.msgs:
					var h rpcrdma.Header
					if _, err := h.Parse(m.b); err != nil || h.Version != 1 || h.Credits == 0 {
						t.Fatalf("sent %x: %+v %v", m.b, h, err)
					}
					answered = h.XID == xid
				case <-p.ep.Done():
					answered = true
				}
			}
		}
		p.ep.Close()
		r.program.drain()
		witness.t = t
		witness.alive()
	})
}

// FuzzReply answers a call with an arbitrary message, in either dialect, at a client that serves or
// does not. The call ends with this answer or with the good one that follows. The caller's memory
// is not touched afterwards.
func FuzzReply(f *testing.F) {
	const size = 5000
	seed := func(h *rpcrdma.Header, body []byte) {
		for i := range 4 {
			f.Add(append(h.Append(nil), body...), i&1 > 0, i&2 > 0)
		}
	}
	program := newProgram()
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(program.program())
	f.Cleanup(func() { back.Close() })
	seed(header(0, rpcrdma.TypeMsg), append(replyHeader(0), be32(0, 7)...))
	seed(header(0, rpcrdma.TypeNoMsg), nil)
	h := header(0, rpcrdma.TypeMsg)
	h.AddWrite([]chunks.Segment{{Handle: 1, Length: size, Offset: 4096}})
	seed(h, result(0, size))
	h.SetReply([]chunks.Segment{{Handle: 1, Length: size, Offset: 4096}})
	seed(h, nil)
	seed(&rpcrdma.Header{Version: 9, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers}, nil)
	seed(&rpcrdma.Header{Version: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk}, nil)

	// A call by the server, to a client that serves nothing.
	seed(header(0, rpcrdma.TypeMsg), callBytes(1, procNull, nil))

	// Read lists of no bytes, of memory that does not exist, and of too much.
	for _, s := range []chunks.ReadSegment{{Position: 24}, {}, {Position: 36, Segment: chunks.Segment{Handle: 1, Length: size}}, {Segment: chunks.Segment{Length: 1 << 31}}, {Segment: chunks.Segment{Length: 1 << 21}}} {
		h = header(0, rpcrdma.TypeMsg)
		h.Reads = []chunks.ReadSegment{s}
		seed(h, append(replyHeader(0), be32(0, 7)...))
		h.Type = rpcrdma.TypeNoMsg
		seed(h, nil)
	}

	f.Fuzz(func(t *testing.T, msg []byte, draft, serves bool) {
		if len(msg) > 4096 {
			return
		}
		var cfg rpcrdma.Config
		if draft {
			cfg.Dialect = rpcrdma.Draft
		}
		c, p := rawServer(t, cfg, inline4k)
		if serves {
			c.Serve(back)
		}
		land := make([]byte, size)
		s := start(context.Background(), c, &items{data: [][]byte{make([]byte, size)}}, land)
		h, _ := p.next()
		msg = bytes.Clone(msg)
		if len(msg) >= 4 {
			binary.BigEndian.PutUint32(msg, h.XID)
		}
		p.offer(msg)
		p.offer(append(append(header(h.XID, rpcrdma.TypeMsg).Append(nil), replyHeader(h.XID)...), be32(0, 7)...))
		wait(t, s.err)
		scribble(land)
		// An RDMA_DONE may be under way, with a credit. A reply that cannot be read ends the
		// connection and its credits.
		if _, used, _ := c.Credits(); used != int(c.Stats().DonesSent) && c.Err() == nil {
			t.Errorf("%d credits in use, %d RDMA_DONEs sent", used, c.Stats().DonesSent)
		}
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		p.ep.Close()
		hang.Receive(t, "the end of the connection", p.ep.Done())
		program.drain()
	})
}
