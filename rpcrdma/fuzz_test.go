package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// drain discards what the program has recorded, because full channels would stop it.
func (p *program) drain() {
	for range len(p.entered) {
		<-p.entered
	}
	for range len(p.freed) {
		<-p.freed
	}
	for range len(p.calls) {
		<-p.calls
	}
}

// FuzzServer sends two arbitrary messages to a server of either dialect. The server neither panics
// nor stops serving, and other connections are not affected. A message that makes it read or write
// memory that does not exist ends its own connection.
func FuzzServer(f *testing.F) {
	last := callBytes(1, procEcho, &items{data: [][]byte{{1, 2, 3}}})
	for i, m := range malformedMessages() {
		f.Add(last, m.msg(1), i%2 == 0)
		last = m.msg(1)
	}
	// In the Draft dialect, a reply to be read, and its acknowledgement.
	get := callBytes(6, procSource, &source{1, 5000})
	f.Add(append(header(6, rpcrdma.TypeMsg).Append(nil), get...), head(rpcrdma.TypeDone)(6), true)

	rigs := map[bool]*rig{
		false: newRig(f, rpcrdma.Config{}),
		true:  newRig(f, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64}),
	}
	witnesses := map[bool]*rawPeer{false: rigs[false].raw(inline4k), true: rigs[true].raw(inline4k)}
	f.Fuzz(func(t *testing.T, first, second []byte, draft bool) {
		if len(first) > 4096 || len(second) > 4096 {
			return
		}
		r, witness := rigs[draft], witnesses[draft]
		r.t = t
		p := r.raw(inline4k)
		p.post(first)
		p.post(second) // possibly one more than granted
		// Whatever comes back, this reply does too, unless the connection has ended.
		const xid = 0x12345678
		for there := p.post(withCall(lists(rdmaMsg, none))(xid)); there; {
			select {
			case m := <-p.msgs:
				var h rpcrdma.Header
				if _, err := h.Parse(m.b); err != nil || h.Version != 1 || h.Credits == 0 {
					t.Fatalf("sent %x: %+v %v", m.b, h, err)
				}
				there = h.XID != xid
			case <-p.ep.Done():
				there = false
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
	program := newProgram()
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(program.program())
	f.Cleanup(func() { back.Close() })
	for i, m := range malformedMessages() {
		f.Add(m.msg(0), i%2 == 0, i/2%2 == 0)
	}
	// Write and reply chunks like those that are offered, and read lists that may be read.
	h := header(0, rpcrdma.TypeMsg)
	h.AddWrite([]chunks.Segment{{Handle: 1, Length: size, Offset: 4096}})
	for i := range 2 {
		f.Add(append(h.Append(nil), result(0, size)...), i == 0, i == 0)
		h.SetReply(h.Writes[0])
	}
	for _, s := range []chunks.ReadSegment{
		{Position: 36, Segment: chunks.Segment{Handle: 1, Length: size}},
		{Segment: chunks.Segment{Length: 1 << 21}},
	} {
		h = &rpcrdma.Header{Version: 1, Type: rpcrdma.TypeNoMsg}
		h.Reads = []chunks.ReadSegment{s}
		f.Add(h.Append(nil), true, true)
		h.Type = rpcrdma.TypeMsg
		f.Add(append(h.Append(nil), result(0, size)...), true, false)
	}

	f.Fuzz(func(t *testing.T, msg []byte, draft, serves bool) {
		if len(msg) > 4096 {
			return
		}
		dialect := map[bool]rpcrdma.Dialect{false: rpcrdma.RFC8166, true: rpcrdma.Draft}[draft]
		c, p := rawServer(t, rpcrdma.Config{Dialect: dialect}, inline4k)
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
		p.post(msg)
		p.post(append(withReply(lists(rdmaMsg, none))(h.XID), be32(0, 7)...))
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
