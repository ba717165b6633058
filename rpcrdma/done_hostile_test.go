package rpcrdma_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestBadReplyReads sends replies with bad read lists. The call ends with a typed error, and the
// connection stays. The server still gets one RDMA_DONE, because it may hold memory for the reply.
func TestBadReplyReads(t *testing.T) {
	const size = 5001
	data := pattern(1, size)
	bulk := func(p *rawPeer, h *rpcrdma.Header, position uint32, parts ...[]byte) {
		r := header(h.XID, rpcrdma.TypeMsg)
		r.Reads = p.readSegments(position, parts...)
		p.send(r, result(h.XID, size))
	}
	long := func(p *rawPeer, h *rpcrdma.Header, message []byte) {
		r := header(h.XID, rpcrdma.TypeNoMsg)
		r.Reads = p.readSegments(0, message)
		p.send(r)
	}
	tests := []struct {
		name   string
		answer func(p *rawPeer, h *rpcrdma.Header)
		want   error
	}{
		{"overlap", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = append(p.readSegments(36, data), p.readSegments(40, data)...)
			p.send(r, result(h.XID, size))
		}, chunks.ErrMalformed},
		{"position that is no multiple of four", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 37, data) }, chunks.ErrMalformed},
		{"position past the end", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 44, data) }, chunks.ErrMalformed},
		{"position above 2 GiB", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 1<<31, data) }, chunks.ErrMalformed},
		{"position of no item", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 28, data) }, xdr.ErrChunk},
		{"shorter than the stream says", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 36, data[1:]) }, xdr.ErrChunk},
		{"longer than the stream says", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 36, data, data[:4]) }, xdr.ErrChunk},
		{"longer than MaxMessage", func(p *rawPeer, h *rpcrdma.Header) { bulk(p, h, 36, make([]byte, 65537)) }, &oncrpc.ReplyTooLongError{Max: 65536}},
		{"4 GiB in two segments", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, data, data)
			r.Reads[0].Length, r.Reads[1].Length = 1<<31, 1<<31
			p.send(r, result(h.XID, size))
		}, &oncrpc.ReplyTooLongError{Max: 65536}},
		{"long, longer than MaxMessage with the chunk beside it", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.Reads = append(p.readSegments(0, result(h.XID, size)),
				p.readSegments(36, make([]byte, 65536))...)
			p.send(r)
		}, &oncrpc.ReplyTooLongError{Max: 65536}},
		{"long beside a message", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r, result(h.XID, size))
		}, rpcrdma.ErrMalformed},
		{"long beside a reply chunk in use", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.SetReply(h.Reply)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r)
		}, rpcrdma.ErrMalformed},
		{"no message", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"past the end of the message in the reply chunk", func(p *rawPeer, h *rpcrdma.Header) {
			m := result(h.XID, size)
			p.writeChunk(h.Reply, m)
			r := header(h.XID, rpcrdma.TypeNoMsg)
			segs, _ := chunks.Distribute(nil, h.Reply, len(m))
			r.SetReply(segs)
			r.Reads = p.readSegments(uint32(len(m)+4), data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"reply chunk longer than offered", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.SetReply(h.Reply)
			r.Reply[0].Length = 1<<32 - 1
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"long and too short for a message", func(p *rawPeer, h *rpcrdma.Header) { long(p, h, be32(h.XID)) }, rpcrdma.ErrMalformed},
		{"long with another XID", func(p *rawPeer, h *rpcrdma.Header) { long(p, h, echoReply(h.XID+1, data)) }, rpcrdma.ErrXID},
		{"long with a call", func(p *rawPeer, h *rpcrdma.Header) { long(p, h, callBytes(h.XID, procNull, nil)) }, rpcrdma.ErrMalformed},
		{"long and truncated", func(p *rawPeer, h *rpcrdma.Header) { long(p, h, replyHeader(h.XID)[:20]) }, oncrpc.ErrMalformedReply},
		{"long with bytes left over", func(p *rawPeer, h *rpcrdma.Header) { long(p, h, append(echoReply(h.XID, data), 0, 0, 0, 0)) }, oncrpc.ErrMalformedReply},
		{"another XID in the message", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID+1, size))
		}, rpcrdma.ErrXID},
		{"a write list that was not offered", func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite([]chunks.Segment{{Handle: 1, Length: 1}})
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}, rpcrdma.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536},
				inline4k)
			clientWorks(t, c, p)
			s := start(t.Context(), c, &items{data: [][]byte{data}}, nil)
			h, _ := p.next()
			tt.answer(p, h)
			checkEnd(t, wait(t, s.err), tt.want)
			p.nextDone(h.XID, 64)
			clientWorks(t, c, p)
			if got := c.Stats(); got.DonesSent != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// TestReplyReadsImpossible: a client gets read lists that it cannot read, because the server serves
// no Reads or the connection can make none. The server still gets an RDMA_DONE.
func TestReplyReadsImpossible(t *testing.T) {
	for _, tt := range []string{"said so", "no ORD"} {
		t.Run(tt, func(t *testing.T) {
			wrap := sameEndpoint
			if tt == "no ORD" {
				wrap = func(ep transport.Endpoint) transport.Endpoint { return noReads{ep} }
			}
			c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, wrap)
			if tt == "said so" {
				c.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 0 })
			}
			s := start(t.Context(), c, &items{}, nil)
			h, _ := p.next()
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, make([]byte, 100))
			p.send(r, result(h.XID, 100))
			if err := wait(t, s.err); !errors.Is(err, transport.ErrNoReads) {
				t.Errorf("error %v, want %v", err, transport.ErrNoReads)
			}
			p.nextDone(h.XID, 64)
			clientWorks(t, c, p)
		})
	}
}

// noReads is an endpoint that can make no Reads.
type noReads struct{ transport.Endpoint }

func (e noReads) Info() transport.Info {
	info := e.Endpoint.Info()
	info.ORD = 0
	return info
}

// TestReplyReadsToNoCall sends replies with read lists that match no pending call: unknown ones,
// those of answered calls, and second ones while the first is being read. They are counted, but not
// read. No RDMA_DONE answers them, because the server may have no such reply.
func TestReplyReadsToNoCall(t *testing.T) {
	made, hold := heldReads()
	c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, hold)
	held := wait(t, made)
	clientWorks(t, c, p)
	data := pattern(1, 5001)
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	unreadable := []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: 5001}}}
	send := func(xid uint32) {
		r := header(xid, rpcrdma.TypeMsg)
		r.Reads = unreadable
		p.send(r, result(xid, 5001))
		r = header(xid, rpcrdma.TypeNoMsg)
		r.Reads = []chunks.ReadSegment{{Segment: unreadable[0].Segment}}
		if xid == h.XID { // otherwise it is a call by the server
			p.send(r)
		}
	}
	send(h.XID + 1)
	r := header(h.XID, rpcrdma.TypeMsg)
	r.Reads = p.readSegments(36, data)
	p.send(r, result(h.XID, len(data)))
	send(h.XID)
	clientWorksBeside(t, c, p)
	held.release(t, 1)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("error %v, or the result differs", err)
	}
	p.nextDone(h.XID, 64)
	p.send(r, result(h.XID, len(data)))
	clientWorks(t, c, p)
	if got := c.Stats(); got.UnknownXID != 4 || got.DonesSent != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestReplyReadInRFC8166 sends a client of RFC 8166 replies with read lists. None is read, and no
// RDMA_DONE is sent (RFC 8166 section 4.3).
func TestReplyReadInRFC8166(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg} {
		s := start(t.Context(), c, &items{}, nil)
		h, _ := p.next()
		r := header(h.XID, typ)
		r.Reads = []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: 8}}}
		if typ == rpcrdma.TypeNoMsg {
			r.Reads[0].Position = 0
			p.send(r)
		} else {
			p.send(r, result(h.XID, 8))
		}
		if err := wait(t, s.err); !errors.Is(err, rpcrdma.ErrReplyReadList) {
			t.Errorf("error %v, want %v", err, rpcrdma.ErrReplyReadList)
		}
		clientWorks(t, c, p)
	}
	if got := c.Stats(); got.DonesSent != 0 || got.Malformed != 2 {
		t.Errorf("counters %+v", got)
	}
}
