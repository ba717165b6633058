package rpcrdma_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestResultsByReadChunk: the write chunks are too small for all results, so the server leaves the
// others to be read. The client moves those to the caller's memory.
func TestResultsByReadChunk(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	c := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
	small, large := make([]byte, 4999), make([]byte, 5001)
	var got items
	err := client(c).Do(t.Context(), &oncrpc.Request{Procedure: procSource, Args: &source{2, 5000}, Reply: &got, Results: [][]byte{small, large}, MaxReply: 32})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got.data {
		if !bytes.Equal(p, pattern(uint64(i), 5000)) {
			t.Errorf("item %d differs", i)
		}
	}
	if !bytes.Equal(large[:5000], pattern(1, 5000)) {
		t.Error("what fits did not land where it was to")
	}
	if got := c.Stats(); got.DonesSent != 1 {
		t.Errorf("%d RDMA_DONEs", got.DonesSent)
	}
}

// readSegments exposes the parts of a message as read segments of one position.
func (p *rawPeer) readSegments(position uint32, parts ...[]byte) (all []chunks.ReadSegment) {
	p.t.Helper()
	for _, b := range parts {
		all = append(all, chunks.ReadSegment{Position: position, Segment: p.expose(b, transport.RemoteRead)})
	}
	return all
}

// echoReply is a whole reply with items.
func echoReply(xid uint32, data ...[]byte) []byte {
	m := callMessage(xid, procEcho, &items{data: data, tail: 7})
	return append(replyHeader(xid), m.AppendTo(nil)[40:]...)
}

// nextDone checks that the next message is the RDMA_DONE for a reply, to the byte.
func (p *rawPeer) nextDone(xid, credits uint32) {
	p.t.Helper()
	want := be32(xid, 1, credits, 3)
	if m := wait(p.t, p.msgs); !bytes.Equal(m.b, want) {
		p.t.Errorf("message % x, want RDMA_DONE % x", m.b, want)
	}
}

// TestClientReads: a raw server sends a real client replies to read, in every form that is allowed,
// including those that our server does not use.
func TestClientReads(t *testing.T) {
	const size = 5001
	data := pattern(1, size)
	tests := []struct {
		name   string
		land   bool // the result has a buffer
		answer func(p *rawPeer, h *rpcrdma.Header)
	}{
		{"bulk data", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}},
		{"bulk data with its round-up", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, append(bytes.Clone(data), 1, 2, 3))
			p.send(r, result(h.XID, size))
		}},
		{"segments, empty ones among them", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, data[:1], data[1:4000], data[4000:])
			empty := r.Reads[0]
			empty.Length = 0
			r.Reads = slices.Insert(r.Reads, 1, empty)
			p.send(r, result(h.XID, size))
		}},
		{"all at position zero", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			m := echoReply(h.XID, data)
			r.Reads = p.readSegments(0, m[:30], m[30:])
			p.send(r)
		}},
		{"position zero behind another", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.Reads = append(p.readSegments(36, data), p.readSegments(0, result(h.XID, size))...)
			p.send(r)
		}},
		{"position zero, and the data in a write chunk", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.writeChunk(h.Writes[0], data)
			r := header(h.XID, rpcrdma.TypeNoMsg)
			segs, _ := chunks.Distribute(nil, h.Writes[0], size)
			chunks.AddRoundUp(segs, h.Writes[0], size)
			r.AddWrite(segs)
			r.Reads = p.readSegments(0, result(h.XID, size))
			p.send(r)
		}},
		{"write chunk offered and not used", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			segs, _ := chunks.Distribute(nil, h.Writes[0], 0)
			r.AddWrite(segs)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}},
		// draft section 5.2: "even with read chunks removed"
		{"beside the rest in the reply chunk", false, func(p *rawPeer, h *rpcrdma.Header) {
			m := result(h.XID, size)
			p.writeChunk(h.Reply, m)
			r := header(h.XID, rpcrdma.TypeNoMsg)
			segs, _ := chunks.Distribute(nil, h.Reply, len(m))
			r.SetReply(segs)
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}},
		{"reply chunk offered and not used", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			segs, _ := chunks.Distribute(nil, h.Reply, 0)
			r.SetReply(segs)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r)
		}},
	}
	for _, tt := range tests {
		for _, serves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/serves %v", tt.name, serves), func(t *testing.T) {
				info := &lastInfo{}
				c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Observer: info},
					inline4k)
				if serves {
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				var mem []byte
				if tt.land {
					mem = make([]byte, size)
				}
				s := start(t.Context(), c, &items{data: [][]byte{data}}, mem)
				h, _ := p.next()
				p.read(h.Reads[0].Segment)
				tt.answer(p, h)
				if err := wait(t, s.err); err != nil {
					t.Fatal(err)
				}
				if len(s.reply.data) != 1 || !bytes.Equal(s.reply.data[0], data) {
					t.Error("result differs")
				}
				if tt.land && &s.reply.data[0][0] != &mem[0] {
					t.Error("result is not in the memory named for it")
				}
				p.nextDone(h.XID, 64)
				if n := info.ReplyRead; n == 0 {
					t.Error("CallInfo.ReplyRead is 0")
				}
				clientWorks(t, c, p)
			})
		}
	}
}

// lastInfo is an Observer of the last call.
type lastInfo struct{ rpcrdma.CallInfo }

func (l *lastInfo) CallDone(info *rpcrdma.CallInfo) { l.CallInfo = *info }

// bytesRead is an Observer that sums up.
type bytesRead struct{ atomic.Int64 }

func (n *bytesRead) CallDone(info *rpcrdma.CallInfo) {
	n.Add(int64(info.ReplyRead + info.InlineReceived))
}

// clientWorks makes a call: the next thing that the server sees is that, and its reply takes all
// credits back.
func clientWorks(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	s := start(t.Context(), c, &items{}, nil)
	h, body := p.next()
	if h.Type != rpcrdma.TypeMsg || len(body) < 8 {
		t.Fatalf("the server got %v, want the next call", h.Type)
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("next call: %v", err)
	}
	if _, used, _ := c.Credits(); used != 0 {
		t.Errorf("%d credits in use", used)
	}
}

// TestDoneAfterReads checks that the RDMA_DONE leaves, and the call ends, only when the last RDMA
// Read is complete.
func TestDoneAfterReads(t *testing.T) {
	made, hold := heldReads()
	c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, hold)
	held := wait(t, made)
	clientWorks(t, c, p) // opens the window
	data := pattern(1, 9000)
	s := start(t.Context(), c, &items{data: [][]byte{{1}}}, nil)
	h, _ := p.next()
	r := header(h.XID, rpcrdma.TypeMsg)
	r.Reads = p.readSegments(36, data[:3000], data[3000:6000], data[6000:])
	p.send(r, result(h.XID, len(data)))
	for left := 3; left > 0; left-- {
		clientWorksBeside(t, c, p)
		if len(s.err) > 0 {
			t.Errorf("the call ended with %d Reads to go", left)
		}
		held.release(t, 1)
	}
	p.nextDone(h.XID, 64)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("error %v, or the result differs", err)
	}
	clientWorks(t, c, p)
	if got := c.Stats(); got.DonesSent != 1 || got.UnknownXID != 0 {
		t.Errorf("counters %+v", got)
	}
}

// clientWorksBeside makes a call while others are under way.
func clientWorksBeside(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	if h.Type != rpcrdma.TypeMsg {
		t.Fatalf("the server got %v, want a call", h.Type)
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("a call beside: %v", err)
	}
}
