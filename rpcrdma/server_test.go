package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var inline4k = privateData{Send: 4096, Recv: 4096}

// readCall is a call of procSink whose items are read chunks.
type readCall struct {
	h    *rpcrdma.Header
	body []byte // without the items
	want *items
}

// newReadCall lays out a call with items of the given lengths, each a read chunk with its round-up
// included if told. The items' positions count the unreduced stream (docs/readings.md, 1).
func newReadCall(p *rawPeer, xid uint32, roundUp bool, lengths ...int) *readCall {
	rc := &readCall{h: header(xid, rpcrdma.TypeMsg), want: &items{tail: 99}}
	for i, n := range lengths {
		rc.want.data = append(rc.want.data, pattern(uint64(i)+1, n))
	}
	m := callMessage(xid, procSink, rc.want)
	rc.body = m.Inline
	for _, it := range m.Bulk {
		mem := bytes.Clone(it.Data[0])
		if roundUp {
			mem = append(mem, 0xee, 0xee, 0xee)[:xdr.RoundUp(it.Len)]
		}
		if len(mem) > 0 {
			rc.h.Reads = append(rc.h.Reads, p.readSegments(uint32(it.Position), mem)...)
		}
	}
	return rc
}

// TestRefusedCalls sends bad calls. Each gets the protocol's answer, and the connection stays.
// Calls that are bad whatever memory they name are in TestMalformed. Which calls are good, and how
// they are answered, is in package matrix.
func TestRefusedCalls(t *testing.T) {
	mem := make([]byte, 64<<10)
	plain := func(h *rpcrdma.Header) []byte { return callBytes(h.XID, procSource, &source{1, 100}) }
	// reads offers memory as a read chunk.
	reads := func(p *rawPeer, h *rpcrdma.Header, position uint32, mem []byte) {
		h.Reads = append(h.Reads, p.readSegments(position, mem)...)
	}
	malformed := rpcrdma.Stats{ErrorsSent: 1, Malformed: 1}
	tooLong := rpcrdma.Stats{ErrorsSent: 1, TooLong: 1}
	for _, tt := range []struct {
		name  string
		call  func(p *rawPeer, h *rpcrdma.Header) []byte
		count rpcrdma.Stats
	}{
		{"long message is neither call nor reply", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			reads(p, h, 0, be32(h.XID, 2, 0))
			return nil
		}, malformed},
		{"long message with another xid", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			reads(p, h, 0, callBytes(h.XID+1, procNull, nil))
			return nil
		}, malformed},
		{"long message of one word", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			reads(p, h, 0, be32(h.XID))
			return nil
		}, malformed},
		{"write chunk too small", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.AddWrite([]chunks.Segment{p.expose(mem[:99], transport.RemoteWrite)})
			return plain(h)
		}, tooLong},
		{"no reply chunk", func(_ *rawPeer, h *rpcrdma.Header) []byte {
			return callBytes(h.XID, procSource, &source{1, 5000})
		}, tooLong},
		{"reply chunk too small", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.SetReply([]chunks.Segment{p.expose(mem[:5039], transport.RemoteWrite)})
			return callBytes(h.XID, procSource, &source{1, 5000})
		}, tooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{})
			p := r.raw(inline4k)
			h := header(1000, rpcrdma.TypeMsg)
			p.send(h, tt.call(p, h))
			got, body := p.next()
			want := rpcrdma.Header{XID: h.XID, Version: 1, Credits: max(1, got.Credits),
				Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk}
			if !bytes.Equal(got.Append(nil), want.Append(nil)) || len(body) > 0 {
				t.Errorf("answer %+v, want %+v", got, want)
			}
			p.alive()
			all := wait(t, r.program.conns).Stats()
			count := rpcrdma.Stats{ErrorsSent: all.ErrorsSent, Malformed: all.Malformed,
				TooLong: all.TooLong, BadVersion: all.BadVersion}
			if diff := cmp.Diff(tt.count, count); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBehindLong: bytes behind the header of an RDMA_NOMSG are not looked at (docs/readings.md, 5).
func TestBehindLong(t *testing.T) {
	data := pattern(1, 5000)
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	call := header(3, rpcrdma.TypeNoMsg)
	call.Reads = p.readSegments(0, callBytes(3, procSink, &items{data: [][]byte{data}}))
	p.send(call, callBytes(3, procSource, &source{1, 100}))
	if h, body := p.next(); h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(3)) {
		t.Errorf("reply %v %v %x", h.Type, h.Err, body)
	}
	if got := wait(t, r.program.calls); !bytes.Equal(got.data[0], data) {
		t.Error("the arguments differ")
	}
}

// TestReplyReleased checks that each item of a reply's bulk data is released once, also when the
// reply cannot be sent.
func TestReplyReleased(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	for i, size := range []uint32{100, 5000} { // the second fits nowhere
		p.send(header(uint32(i), rpcrdma.TypeMsg), callBytes(uint32(i), procSource, &source{3, size}))
		p.next()
		for range 3 {
			wait(t, r.program.freed)
		}
	}
	p.alive()
	if n := len(r.program.freed); n > 0 {
		t.Errorf("%d items released again", n)
	}
}

// TestInvalidate checks that a reply invalidates the caller's memory if the caller allows it and
// the call had a single handle.
func TestInvalidate(t *testing.T) {
	mem := make([]byte, 4096)
	for _, flags := range []struct{ ours, theirs bool }{
		{true, true}, {true, false}, {false, true}, {false, false},
	} {
		r := newRig(t, rpcrdma.Config{NoRemoteInvalidate: !flags.ours})
		p := r.raw(privateData{Invalidate: flags.theirs, Send: 4096, Recv: 4096})
		access := transport.RemoteWrite | transport.RemoteInvalidate
		one, other := p.expose(mem[:100], access), p.expose(mem[100:], access)
		for i, tt := range []struct {
			name  string
			write []chunks.Segment
			want  bool
		}{
			{"no handle", nil, false},
			{"two handles", []chunks.Segment{one, other}, false},
			{"one handle twice", []chunks.Segment{
				{Handle: one.Handle, Length: 4, Offset: one.Offset}, one,
			}, flags.ours && flags.theirs},
		} {
			h := header(uint32(i), rpcrdma.TypeMsg)
			if tt.write != nil {
				h.AddWrite(tt.write)
			}
			p.send(h, callBytes(h.XID, procSource, &source{1, 10}))
			_, _, m := p.nextMsg()
			if m.hasInv != tt.want || tt.want && uint32(m.invalidated) != one.Handle {
				t.Errorf("%s, flags %v: invalidated %v %#x", tt.name, flags, m.hasInv, m.invalidated)
			}
		}
	}
}

// TestInlineSizes checks that a server uses the sizes in the peer's private data, and 1024 bytes
// without it (RFC 8797 section 4).
func TestInlineSizes(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	for _, tt := range []struct {
		name  string
		peer  privateData
		limit int
	}{
		{"silent", privateData{}, 1024},
		{"2048", privateData{Send: 4096, Recv: 2048}, 2048},
		{"more than ours", privateData{Send: 65536, Recv: 65536}, 4096},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := r.raw(tt.peer)
			p.t = t
			seg := p.expose(make([]byte, 8192), transport.RemoteWrite)
			// header with the reply chunk's 20 bytes, reply header, count, mark, length, tail.
			fits := tt.limit - (28 + 20) - 24 - 16
			for i, n := range []int{fits, fits + 4} {
				h := header(uint32(i), rpcrdma.TypeMsg)
				h.SetReply([]chunks.Segment{seg})
				p.send(h, callBytes(h.XID, procSource, &source{1, uint32(n)}))
				got, body := p.next()
				want := []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg}[i]
				if got.Type != want || got.Len()+len(body) > tt.limit {
					t.Errorf("%d bytes: %v of %d bytes, want %v", n, got.Type, got.Len()+len(body),
						want)
				}
			}
		})
	}
}
