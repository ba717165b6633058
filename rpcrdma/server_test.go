package rpcrdma_test

import (
	"bytes"
	"fmt"
	"slices"
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
	mem  [][]byte // memory of the items, exposed
	pos  []int
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
		rc.mem = append(rc.mem, mem)
		rc.pos = append(rc.pos, it.Position)
		if len(mem) > 0 {
			rc.h.Reads = append(rc.h.Reads, chunks.ReadSegment{Position: uint32(it.Position), Segment: p.expose(mem, transport.RemoteRead)})
		}
	}
	return rc
}

// TestReadChunks sends calls with read chunks in every shape that is allowed.
func TestReadChunks(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testReadChunks(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testReadChunks(t, rpcrdma.Draft) })
}

func testReadChunks(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Dialect: dialect})
	p := r.raw(inline4k)
	xid := uint32(100)
	send := func(t *testing.T, rc *readCall) {
		t.Helper()
		p.t = t
		p.send(rc.h, rc.body)
		h, body := p.next()
		if h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(rc.h.XID)) {
			t.Fatalf("reply %v %v %x", h.Type, h.Err, body)
		}
		got := wait(t, r.program.calls)
		if !slices.EqualFunc(rc.want.data, got.data, bytes.Equal) || got.tail != 99 {
			t.Errorf("arguments differ (tail %d)", got.tail)
		}
	}
	for n := range 10 {
		for _, roundUp := range []bool{false, true} {
			t.Run(fmt.Sprintf("length %d roundup %v", n, roundUp), func(t *testing.T) {
				xid++
				send(t, newReadCall(p, xid, roundUp, n, 5, 70_000+n))
			})
		}
	}
	t.Run("several segments of one position are one chunk", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 10_001)
		whole := rc.h.Reads[0]
		rc.h.Reads = nil
		for off := uint32(0); off < whole.Length; off += 999 {
			s := whole
			s.Offset += uint64(off)
			s.Length = min(999, whole.Length-off)
			rc.h.Reads = append(rc.h.Reads, s)
		}
		send(t, rc)
	})
	t.Run("empty segments", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 101)
		empty := rc.h.Reads[0]
		empty.Length = 0
		rc.h.Reads = []chunks.ReadSegment{empty, rc.h.Reads[0], empty}
		send(t, rc)
	})
	t.Run("positions out of order", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 7, 2000, 9)
		rc.h.Reads[0], rc.h.Reads[2] = rc.h.Reads[2], rc.h.Reads[0]
		send(t, rc)
	})
	t.Run("memory may overlap", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 64, 64)
		rc.h.Reads[1].Segment = rc.h.Reads[0].Segment
		rc.want.data[1] = rc.want.data[0]
		send(t, rc)
	})
	t.Run("some inline", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 30, 1000, 50)
		// The second stays inline, and its bytes go where they belong.
		m := callMessage(xid, procSink, rc.want)
		rc.body = nil
		for _, q := range m.AppendPieces(nil, []bool{true, false, true}) {
			rc.body = append(rc.body, q...)
		}
		rc.h.Reads = append(rc.h.Reads[:1], rc.h.Reads[2])
		send(t, rc)
	})
	t.Run("long", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false)
		rc.h.Type = rpcrdma.TypeNoMsg
		rc.h.Reads = []chunks.ReadSegment{{Segment: p.expose(rc.body, transport.RemoteRead)}}
		rc.body = nil
		send(t, rc)
	})
	t.Run("long, and bytes behind its header", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false)
		rc.h.Type = rpcrdma.TypeNoMsg
		rc.h.Reads = []chunks.ReadSegment{{Segment: p.expose(rc.body, transport.RemoteRead)}}
		rc.body = callBytes(xid, procSource, &source{1, 100}) // nobody looks at the contents
		send(t, rc)
	})
	t.Run("long with chunks beside it", func(t *testing.T) {
		xid++
		rc := newReadCall(p, xid, false, 3, 50_001, 4)
		rc.h.Type = rpcrdma.TypeNoMsg
		// In two segments, and not first in the list.
		a, b := p.expose(rc.body[:44], transport.RemoteRead), p.expose(rc.body[44:],
			transport.RemoteRead)
		rc.h.Reads = append(rc.h.Reads, chunks.ReadSegment{Segment: a},
			chunks.ReadSegment{Segment: b})
		rc.body = nil
		send(t, rc)
	})
}

// TestRefusedCalls sends bad calls. Each gets the protocol's answer, and the connection stays.
// Errors in the header alone are in TestMalformed.
func TestRefusedCalls(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testRefusedCalls(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testRefusedCalls(t, rpcrdma.Draft) })
}

func testRefusedCalls(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{MaxMessage: 1 << 20, Dialect: dialect})
	mem := make([]byte, 64<<10)
	type call func(p *rawPeer, h *rpcrdma.Header) []byte
	plain := func(h *rpcrdma.Header) []byte { return callBytes(h.XID, procSource, &source{1, 100}) }
	// An ErrCode: by RFC 8166 ERR_CHUNK; in the Draft dialect the results come another way.
	const readList = 0
	tests := []struct {
		name string
		call call
		want rpcrdma.ErrCode
	}{
		{"version 2", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Version = 2; return plain(h) }, rpcrdma.ErrVers},
		{"version 0", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Version = 0; return plain(h) }, rpcrdma.ErrVers},
		{"RDMA_MSGP", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Type = rpcrdma.TypeMsgP; return plain(h) }, rpcrdma.ErrChunk},
		{"unknown type", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Type = 5; return plain(h) }, rpcrdma.ErrChunk},
		{"no chunk lists", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Type = 9; return nil }, rpcrdma.ErrChunk},
		{"rdma_xid differs", func(_ *rawPeer, h *rpcrdma.Header) []byte { return callBytes(h.XID+1, procNull, nil) }, rpcrdma.ErrChunk},
		{"no message", func(_ *rawPeer, h *rpcrdma.Header) []byte { return nil }, rpcrdma.ErrChunk},
		{"message of one word", func(_ *rawPeer, h *rpcrdma.Header) []byte { return be32(h.XID) }, rpcrdma.ErrChunk},
		{"neither call nor reply", func(_ *rawPeer, h *rpcrdma.Header) []byte { return be32(h.XID, 2, 2) }, rpcrdma.ErrChunk},
		{"position not a multiple of 4", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Reads = []chunks.ReadSegment{{Position: 46, Segment: p.expose(mem, transport.RemoteRead)}}
			return plain(h)
		}, rpcrdma.ErrChunk},
		{"overlap in the stream", func(p *rawPeer, h *rpcrdma.Header) []byte {
			s := p.expose(mem[:9], transport.RemoteRead)
			h.Reads = []chunks.ReadSegment{{Position: 40, Segment: s}, {Position: 48, Segment: s}}
			return plain(h)
		}, rpcrdma.ErrChunk},
		{"position past the end", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Reads = []chunks.ReadSegment{{Position: 4096, Segment: p.expose(mem, transport.RemoteRead)}}
			return plain(h)
		}, rpcrdma.ErrChunk},
		{"chunks over the maximum", func(p *rawPeer, h *rpcrdma.Header) []byte {
			s := p.expose(mem, transport.RemoteRead)
			s.Length = 0xffffffff
			h.Reads = []chunks.ReadSegment{{Position: 40, Segment: s}, {Position: 40, Segment: s}}
			return plain(h)
		}, rpcrdma.ErrChunk},
		{"position 0 beside a message", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Reads = []chunks.ReadSegment{{Position: 0, Segment: p.expose(mem, transport.RemoteRead)}}
			return plain(h)
		}, rpcrdma.ErrChunk},
		{"RDMA_NOMSG without chunks", func(_ *rawPeer, h *rpcrdma.Header) []byte { h.Type = rpcrdma.TypeNoMsg; return nil }, rpcrdma.ErrChunk},
		{"RDMA_NOMSG with another position", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			h.Reads = []chunks.ReadSegment{{Position: 40, Segment: p.expose(mem, transport.RemoteRead)}}
			return nil
		}, rpcrdma.ErrChunk},
		{"long message is neither call nor reply", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			h.Reads = []chunks.ReadSegment{{Segment: p.expose(be32(h.XID, 2, 0), transport.RemoteRead)}}
			return nil
		}, rpcrdma.ErrChunk},
		{"long message with another xid", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			h.Reads = []chunks.ReadSegment{{Segment: p.expose(callBytes(h.XID+1, procNull, nil), transport.RemoteRead)}}
			return nil
		}, rpcrdma.ErrChunk},
		{"long message of one word", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.Type = rpcrdma.TypeNoMsg
			h.Reads = []chunks.ReadSegment{{Segment: p.expose(be32(h.XID), transport.RemoteRead)}}
			return nil
		}, rpcrdma.ErrChunk},
		{"write chunk too small", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.AddWrite([]chunks.Segment{p.expose(mem[:99], transport.RemoteWrite)})
			return plain(h)
		}, readList},
		{"no reply chunk", func(_ *rawPeer, h *rpcrdma.Header) []byte {
			return callBytes(h.XID, procSource, &source{1, 5000})
		}, readList},
		{"reply chunk too small", func(p *rawPeer, h *rpcrdma.Header) []byte {
			h.SetReply([]chunks.Segment{p.expose(mem[:5039], transport.RemoteWrite)})
			return callBytes(h.XID, procSource, &source{1, 5000})
		}, readList},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := r.raw(inline4k)
			p.t = t
			h := header(uint32(1000+i), rpcrdma.TypeMsg)
			p.send(h, tt.call(p, h))
			got, body := p.next()
			small := false
			if tt.want == readList {
				if dialect == rpcrdma.Draft {
					if got.Type == rpcrdma.TypeError {
						t.Errorf("answer %v", got.Err)
					}
					p.alive()
					wait(t, r.program.conns)
					return
				}
				tt.want, small = rpcrdma.ErrChunk, true
			}
			want := rpcrdma.Header{XID: h.XID, Version: 1, Credits: got.Credits,
				Type: rpcrdma.TypeError, Err: tt.want}
			if tt.want == rpcrdma.ErrVers {
				want.Low, want.High = 1, 1
			}
			if !bytes.Equal(got.Append(nil), want.Append(nil)) || len(body) > 0 {
				t.Errorf("answer %+v, want %+v", got, want)
			}
			if got.Credits == 0 {
				t.Error("grant of zero")
			}
			p.alive()
			count := rpcrdma.Stats{ErrorsSent: 1, Malformed: 1}
			switch {
			case small:
				count = rpcrdma.Stats{ErrorsSent: 1, TooLong: 1}
			case tt.want == rpcrdma.ErrVers:
				count = rpcrdma.Stats{ErrorsSent: 1, BadVersion: 1}
			}
			all := wait(t, r.program.conns).Stats()
			if diff := cmp.Diff(count, rpcrdma.Stats{ErrorsSent: all.ErrorsSent, Malformed: all.Malformed, TooLong: all.TooLong, BadVersion: all.BadVersion}); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIgnored sends messages that a server ignores. They get no answer and have no effect.
func TestIgnored(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testIgnored(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testIgnored(t, rpcrdma.Draft) })
}

func testIgnored(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Dialect: dialect})
	tests := []struct {
		name string
		msg  []byte
	}{
		{"empty", nil},
		{"one byte", []byte{1}},
		{"three words", be32(1, 1, 1)},
		{"RDMA_DONE", header(5, rpcrdma.TypeDone).Append(nil)},
		{"RDMA_ERROR", (&rpcrdma.Header{XID: 5, Version: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk}).Append(nil)},
		{"RDMA_ERROR of another version", (&rpcrdma.Header{XID: 5, Version: 7, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 1}).Append(nil)},
		{"reply", append(header(5, rpcrdma.TypeMsg).Append(nil), replyHeader(5)...)},
		{"reply with another xid", append(header(5, rpcrdma.TypeMsg).Append(nil), replyHeader(6)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := r.raw(inline4k)
			p.t = t
			for range 3 {
				p.sendBytes(tt.msg)
			}
			p.alive() // its reply is the first message
		})
	}
}

// TestLengthsDisagree sends read chunks that differ in length from what the XDR stream says
// (docs/readings.md, 2).
func TestLengthsDisagree(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testLengthsDisagree(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testLengthsDisagree(t, rpcrdma.Draft) })
}

func testLengthsDisagree(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Dialect: dialect})
	p := r.raw(inline4k)
	for i, delta := range []int{-1, 2, 4, 100} {
		xid := uint32(i + 1)
		rc := newReadCall(p, xid, false, 1001) // round-up: 3
		rc.h.Reads[0].Segment = p.expose(make([]byte, 1001+delta), transport.RemoteRead)
		p.send(rc.h, rc.body)
		_, body := p.next()
		want := append(replyHeader(xid)[:20], be32(4)...) // GARBAGE_ARGS
		if !bytes.Equal(body, want) {
			t.Errorf("%+d bytes: reply %x, want %x", delta, body, want)
		}
	}
	p.alive()
}

// TestReplies asks for results with every combination of memory for them.
func TestReplies(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testReplies(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testReplies(t, rpcrdma.Draft) })
}

func testReplies(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Dialect: dialect})
	p := r.raw(inline4k)
	xid := uint32(0)
	// Space after each window, to detect overruns.
	const guard = 8
	type window struct {
		mem  []byte
		segs []chunks.Segment
	}
	expose := func(sizes ...int) *window {
		w := &window{}
		total := guard
		for _, n := range sizes {
			total += n
		}
		w.mem = bytes.Repeat([]byte{0xaa}, total)
		off := 0
		for _, n := range sizes {
			w.segs = append(w.segs, p.expose(w.mem[off:off+n], transport.RemoteWrite))
			off += n
		}
		return w
	}
	lengths := func(c chunks.WriteChunk) (l []uint32) {
		for _, s := range c {
			l = append(l, s.Length)
		}
		return l
	}
	// results encodes the results of procSource, without the marked items.
	results := func(xid uint32, count, size int, without ...bool) []byte {
		a := &items{tail: 7}
		for i := range count {
			a.data = append(a.data, pattern(uint64(i), size))
		}
		var e xdr.Encoder
		e.Raw(replyHeader(xid))
		a.MarshalXDR(&e)
		m := e.Message()
		var b []byte
		for _, q := range m.AppendPieces(nil, without) {
			b = append(b, q...)
		}
		return b
	}
	tests := []struct {
		name        string
		count, size int
		writes      []*window
		reply       *window
		wantType    rpcrdma.Type
		wantWrites  [][]uint32
		// likewise, with the round-up (draft section 3.7); nil: as in RFC 8166
		wantDraft [][]uint32
		wantReply []uint32 // lengths returned; computed when nil and the type is RDMA_NOMSG
	}{
		{name: "inline", count: 1, size: 100, wantType: rpcrdma.TypeMsg},
		{name: "inline, several and odd", count: 3, size: 101, wantType: rpcrdma.TypeMsg},
		{name: "however small by write chunk", count: 1, size: 1, writes: []*window{expose(4)}, wantWrites: [][]uint32{{1}}, wantDraft: [][]uint32{{4}}},
		{name: "no bytes by write chunk", count: 1, size: 0, writes: []*window{expose(4)}, wantWrites: [][]uint32{{0}}},
		{name: "exactly full", count: 1, size: 70_001, writes: []*window{expose(70_001)}, wantWrites: [][]uint32{{70_001}}, wantDraft: [][]uint32{{70_004}}},
		{name: "partly filled segments", count: 1, size: 1500, writes: []*window{expose(1000, 1000, 1000)}, wantWrites: [][]uint32{{1000, 500, 0}}},
		{name: "several chunks", count: 2, size: 33, writes: []*window{expose(40), expose(10, 40)}, wantWrites: [][]uint32{{33}, {10, 23}}, wantDraft: [][]uint32{{36}, {10, 26}}},
		{name: "more results than chunks", count: 3, size: 33, writes: []*window{expose(40)}, wantWrites: [][]uint32{{33}}, wantDraft: [][]uint32{{36}}},
		{name: "more chunks than results", count: 1, size: 33, writes: []*window{expose(40), expose(50)}, wantWrites: [][]uint32{{33}, {0}}, wantDraft: [][]uint32{{36}, {0}}},
		{name: "empty chunk is none", count: 2, size: 33, writes: []*window{expose(), expose(50)}, wantWrites: [][]uint32{nil, {33}}, wantDraft: [][]uint32{nil, {36}}},
		{name: "reply chunk not needed", count: 1, size: 100, reply: expose(5000), wantReply: []uint32{0}},
		{name: "reply chunk", count: 1, size: 5000, reply: expose(9000), wantType: rpcrdma.TypeNoMsg},
		{name: "reply chunk exactly full", count: 1, size: 5000, reply: expose(24 + 4 + 8 + 5000 + 4), wantType: rpcrdma.TypeNoMsg},
		{name: "reply chunk in segments", count: 2, size: 5001, reply: expose(100, 5001, 9000), wantType: rpcrdma.TypeNoMsg},
		{name: "write and reply chunk", count: 2, size: 6001, writes: []*window{expose(7000)}, reply: expose(7000), wantType: rpcrdma.TypeNoMsg, wantWrites: [][]uint32{{6001}}, wantDraft: [][]uint32{{6004}}},
		{name: "write chunk makes it fit", count: 1, size: 6001, writes: []*window{expose(7000)}, reply: expose(7000), wantWrites: [][]uint32{{6001}}, wantDraft: [][]uint32{{6004}}, wantReply: []uint32{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.t = t
			xid++
			h := header(xid, rpcrdma.TypeMsg)
			for _, w := range tt.writes {
				h.AddWrite(w.segs)
			}
			if tt.reply != nil {
				h.SetReply(tt.reply.segs)
			}
			p.send(h, callBytes(xid, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, body := p.next()
			if got.Type != tt.wantType || got.Version != 1 || got.XID != xid || len(got.Reads) != 0 {
				t.Fatalf("reply %+v", got)
			}
			var without []bool
			var gotWrites [][]uint32
			for i, c := range got.Writes {
				gotWrites = append(gotWrites, lengths(c))
				moved := i < tt.count && len(tt.writes[i].segs) > 0
				without = append(without, moved)
				want := []byte{}
				if moved {
					want = pattern(uint64(i), tt.size)
				}
				mem := tt.writes[i].mem
				if !bytes.HasPrefix(mem, want) {
					t.Errorf("write chunk %d: data differs", i)
				}
				if rest := mem[len(want):]; !bytes.Equal(rest, bytes.Repeat([]byte{0xaa}, len(rest))) {
					t.Errorf("write chunk %d: written past %d bytes", i, len(want))
				}
			}
			if dialect == rpcrdma.Draft && tt.wantDraft != nil {
				tt.wantWrites = tt.wantDraft
			}
			if diff := cmp.Diff(tt.wantWrites, gotWrites); diff != "" {
				t.Errorf("write list: %s", diff)
			}
			want := results(xid, tt.count, tt.size, without...)
			if tt.wantType == rpcrdma.TypeMsg {
				if !bytes.Equal(body, want) {
					t.Errorf("message %x, want %x", body, want)
				}
				if diff := cmp.Diff(tt.wantReply, lengths(got.Reply)); diff != "" {
					t.Errorf("reply chunk: %s", diff)
				}
				return
			}
			if n := int(got.Reply.Len()); n != len(want) || !bytes.Equal(tt.reply.mem[:n], want) {
				t.Errorf("reply chunk of %d bytes differs, want %d", n, len(want))
			}
			if rest := tt.reply.mem[len(want):]; !bytes.Equal(rest, bytes.Repeat([]byte{0xaa}, len(rest))) {
				t.Errorf("reply chunk written past its end")
			}
		})
	}
	for range len(r.program.freed) {
		<-r.program.freed
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
		allowed := flags.ours && flags.theirs
		r := newRig(t, rpcrdma.Config{NoRemoteInvalidate: !flags.ours})
		p := r.raw(privateData{Invalidate: flags.theirs, Send: 4096, Recv: 4096})
		access := transport.RemoteWrite | transport.RemoteInvalidate
		one, other := p.expose(mem[:100], access), p.expose(mem[100:], access)
		tests := []struct {
			name  string
			write []chunks.Segment
			want  bool
		}{
			{"no handle", nil, false},
			{"two handles", []chunks.Segment{one, other}, false},
			{"one handle twice", []chunks.Segment{{Handle: one.Handle, Length: 4, Offset: one.Offset}, one}, true},
		}
		for i, tt := range tests {
			h := header(uint32(i), rpcrdma.TypeMsg)
			if tt.write != nil {
				h.AddWrite(tt.write)
			}
			p.send(h, callBytes(h.XID, procSource, &source{1, 10}))
			_, _, m := p.nextMsg()
			if want := tt.want && allowed; m.hasInv != want || (want && uint32(m.invalidated) != one.Handle) {
				t.Errorf("%s, flags %v: invalidated %v %#x", tt.name, flags, m.hasInv, m.invalidated)
			}
		}
	}
}

// TestInlineSizes checks that a server uses the sizes in the peer's private data, and 1024 bytes
// without it (RFC 8797 section 4).
func TestInlineSizes(t *testing.T) {
	tests := []struct {
		name  string
		peer  privateData
		limit int
	}{
		{"silent", privateData{}, 1024},
		{"2048", privateData{Send: 4096, Recv: 2048}, 2048},
		{"more than ours", privateData{Send: 65536, Recv: 65536}, 4096},
	}
	r := newRig(t, rpcrdma.Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := r.raw(tt.peer)
			p.t = t
			mem := make([]byte, 8192)
			seg := p.expose(mem, transport.RemoteWrite)
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
