package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// started is a call under way.
type started struct {
	reply items
	err   chan error
}

// start makes a call of procEcho on another goroutine. Its one item is decoded into result.
func start(ctx context.Context, c *rpcrdma.Conn, args *items, result []byte) *started {
	s := &started{err: make(chan error, 1)}
	req := oncrpc.Request{Procedure: procEcho, Args: args, Reply: &s.reply}
	for _, a := range args.data {
		req.MaxReply += len(a) + 4
	}
	req.MaxReply += args.len()
	if result != nil {
		s.reply = items{data: [][]byte{result}, land: true}
		req.Results = s.reply.data
		req.MaxReply = args.len()
	}
	go func() { s.err <- client(c).Do(ctx, &req) }()
	return s
}

// result is the inline part of a reply with one item of n bytes.
func result(xid uint32, n int) []byte {
	b := append(replyHeader(xid), be32(1, 0xfeedbeef, uint32(n))...)
	return append(b, be32(7)...)
}

// TestCallLayout checks which way each call goes.
func TestCallLayout(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testCallLayout(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testCallLayout(t, rpcrdma.Draft) })
}

func testCallLayout(t *testing.T, dialect rpcrdma.Dialect) {
	// header 28, call header 40, items 4 + 8 each, tail 4
	const fits1 = 4096 - 28 - 40 - 16
	tests := []struct {
		name       string
		cfg        rpcrdma.Config
		args       []int
		result     int // bytes; -1: no buffer for results
		maxReply   int
		wantType   rpcrdma.Type
		wantReads  []int // lengths of segments
		wantAt     []int // their positions
		wantWrites []int
		wantReply  int
	}{
		{name: "inline", args: []int{100}, result: -1, maxReply: 100},
		{name: "just inline", args: []int{fits1}, result: -1, maxReply: 100},
		{name: "not inline any more", args: []int{fits1 + 1}, result: -1, maxReply: 100, wantReads: []int{fits1 + 1}, wantAt: []int{52}},
		{name: "odd", args: []int{70_001}, result: -1, maxReply: 100, wantReads: []int{70_001}, wantAt: []int{52}},
		{name: "several", args: []int{1025, 2, 5000}, result: -1, maxReply: 100, wantReads: []int{1025, 5000}, wantAt: []int{52, 52 + 1028 + 8 + 4 + 8}},
		{name: "segments", cfg: rpcrdma.Config{SegmentSize: 2000}, args: []int{5001}, result: -1, maxReply: 100, wantReads: []int{2000, 2000, 1001}, wantAt: []int{52, 52, 52}},
		{name: "long", args: slices.Repeat([]int{1000}, 5), result: -1, maxReply: 100, wantType: rpcrdma.TypeNoMsg, wantReads: []int{40 + 4 + 5*1008 + 4}, wantAt: []int{0}},
		{name: "long with a chunk beside", args: append(slices.Repeat([]int{1000}, 5), 3001), result: -1, maxReply: 100, wantType: rpcrdma.TypeNoMsg, wantReads: []int{40 + 4 + 5*1008 + 8 + 4, 3001}, wantAt: []int{0, 40 + 4 + 5*1008 + 8}},
		{name: "result inline", args: []int{4}, result: 1000, maxReply: 100},
		{name: "result by write chunk", args: []int{4}, result: 9001, maxReply: 100, wantWrites: []int{9001}},
		{name: "reply chunk", args: []int{4}, result: -1, maxReply: 9000, wantReply: 9024},
		{name: "both", args: []int{4}, result: 9000, maxReply: 9000, wantWrites: []int{9000}, wantReply: 9024},
		{name: "everything", args: append(slices.Repeat([]int{1000}, 5), 3001), result: 9000, maxReply: 9000, wantType: rpcrdma.TypeNoMsg, wantReads: []int{40 + 4 + 5*1008 + 8 + 4, 3001}, wantAt: []int{0, 40 + 4 + 5*1008 + 8}, wantWrites: []int{9000}, wantReply: 9024},
		{name: "a peer that says nothing", args: []int{1100}, result: 980, maxReply: 100, wantReads: []int{1100}, wantAt: []int{52}, wantWrites: []int{980}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Dialect = dialect
			peer := inline4k
			if tt.name == "a peer that says nothing" {
				peer = privateData{}
			}
			c, p := rawServer(t, tt.cfg, peer)
			args := &items{tail: 3}
			for i, n := range tt.args {
				args.data = append(args.data, pattern(uint64(i), n))
			}
			req := oncrpc.Request{Procedure: procSink, Args: args, MaxReply: tt.maxReply}
			if tt.result >= 0 {
				req.Results = [][]byte{make([]byte, tt.result)}
			}
			done := make(chan error, 1)
			go func() { done <- client(c).Do(context.Background(), &req) }()
			h, body := p.next()
			if h.Type != tt.wantType || h.Version != 1 || h.Credits != 64 {
				t.Errorf("header %+v", h)
			}
			var reads, at, writes []int
			for _, s := range h.Reads {
				reads, at = append(reads, int(s.Length)), append(at, int(s.Position))
			}
			for _, w := range h.Writes {
				writes = append(writes, int(w.Len()))
			}
			if !slices.Equal(reads, tt.wantReads) || !slices.Equal(at, tt.wantAt) {
				t.Errorf("read list %v at %v, want %v at %v", reads, at, tt.wantReads, tt.wantAt)
			}
			if !slices.Equal(writes, tt.wantWrites) {
				t.Errorf("write list %v, want %v", writes, tt.wantWrites)
			}
			if got := int(h.Reply.Len()); got != tt.wantReply || h.HasReply != (tt.wantReply > 0) {
				t.Errorf("reply chunk of %d, want %d", got, tt.wantReply)
			}
			if n := h.Len() + len(body); n > 4096 {
				t.Errorf("Send of %d bytes", n)
			}
			// Joined, they are the message.
			stream := body
			chunksOf := map[int][]byte{}
			for _, s := range h.Reads {
				chunksOf[int(s.Position)] = append(chunksOf[int(s.Position)], p.read(s.Segment)...)
			}
			if h.Type == rpcrdma.TypeNoMsg {
				stream = chunksOf[0]
				delete(chunksOf, 0)
			}
			stream = bytes.Clone(stream)
			for pos := 0; pos <= len(stream); pos += 4 {
				if q, ok := chunksOf[pos]; ok {
					q = append(q, make([]byte, xdr.PadLen(len(q)))...)
					stream = slices.Insert(stream, pos, q...)
				}
			}
			if want := callBytes(h.XID, procSink, args); !bytes.Equal(stream, want) {
				t.Errorf("message of %d bytes differs, want %d", len(stream), len(want))
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID))
			if err := wait(t, done); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplyForms has the server answer in every form that is allowed.
func TestReplyForms(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testReplyForms(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testReplyForms(t, rpcrdma.Draft) })
}

func testReplyForms(t *testing.T, dialect rpcrdma.Dialect) {
	const size = 10_001
	want := pattern(1, size)
	c, p := rawServer(t, rpcrdma.Config{SegmentSize: 4000, Dialect: dialect}, inline4k)
	land := func() []byte { return bytes.Repeat([]byte{0xaa}, size) }
	filled := func(h *rpcrdma.Header) *rpcrdma.Header { // with the reply in the reply chunk
		msg := append(replyHeader(h.XID), be32(1, 0xfeedbeef, size)...)
		msg = append(append(append(msg, want...), 0, 0, 0), be32(7)...)
		p.writeChunk(h.Reply, msg)
		r := header(h.XID, rpcrdma.TypeNoMsg)
		segs, _ := chunks.Distribute(nil, h.Reply, len(msg))
		r.SetReply(segs)
		return r
	}
	tests := []struct {
		name   string
		result []byte
		answer func(h *rpcrdma.Header)
	}{
		{"write chunk", land(), func(h *rpcrdma.Header) {
			if len(h.Writes) != 1 || len(h.Writes[0]) != 3 || h.HasReply {
				t.Errorf("offered %+v", h.Lists)
			}
			p.writeChunk(h.Writes[0], want)
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			p.send(r, result(h.XID, size))
		}},
		{"reply chunk", nil, func(h *rpcrdma.Header) {
			p.send(filled(h))
		}},
		{"reply chunk, and bytes behind the header", nil, func(h *rpcrdma.Header) {
			p.send(filled(h), replyHeader(h.XID+1)) // nobody looks at the contents
		}},
		{"in a short reply chunk, of a version 1 peer that returns the write list too", land(), func(h *rpcrdma.Header) {
			p.writeChunk(h.Writes[0], want)
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			p.send(r, result(h.XID, size))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(context.Background(), c, &items{data: [][]byte{want}}, tt.result)
			h, _ := p.next()
			tt.answer(h)
			if err := wait(t, s.err); err != nil {
				t.Fatal(err)
			}
			if len(s.reply.data) != 1 || !bytes.Equal(s.reply.data[0], want) {
				t.Error("result differs")
			}
			if tt.result != nil && &s.reply.data[0][0] != &tt.result[0] {
				t.Error("result is not in the memory named for it")
			}
		})
	}
	t.Run("the bytes written, not more", func(t *testing.T) {
		mem := land()
		s := start(context.Background(), c, &items{data: [][]byte{want}}, mem)
		h, _ := p.next()
		// Changed instead of returned (draft section 3.4).
		p.writeChunk(h.Writes[0], bytes.Repeat([]byte{0xbb}, size))
		p.writeChunk(h.Writes[0], want[:5])
		segs, _ := chunks.Distribute(nil, h.Writes[0], 5)
		r := header(h.XID, rpcrdma.TypeMsg)
		r.AddWrite(segs)
		p.send(r, result(h.XID, 5))
		if err := wait(t, s.err); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.reply.data[0], want[:5]) {
			t.Errorf("result of %d bytes", len(s.reply.data[0]))
		}
	})
}

func (p *rawPeer) writeChunk(c chunks.WriteChunk, b []byte) {
	p.t.Helper()
	for _, s := range c {
		n := min(len(b), int(s.Length))
		p.write(s, b[:n])
		b = b[n:]
	}
}

// TestBadReplies sends bad replies: the call ends with a typed error, nothing is sent back
// (docs/readings.md, 5), and the connection stays.
func TestBadReplies(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testBadReplies(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testBadReplies(t, rpcrdma.Draft) })
}

func testBadReplies(t *testing.T, dialect rpcrdma.Dialect) {
	const size = 10_000
	var vers2 = &rpcrdma.Header{Version: 2, Type: rpcrdma.TypeMsg}
	tests := []struct {
		name   string
		result bool
		answer func(p *rawPeer, h *rpcrdma.Header)
		want   error
	}{
		{"ERR_CHUNK", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.send(&rpcrdma.Header{XID: h.XID, Version: 1, Credits: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk})
		}, &rpcrdma.PeerError{Code: rpcrdma.ErrChunk}},
		{"ERR_VERS", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.send(&rpcrdma.Header{XID: h.XID, Version: 1, Credits: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 2, High: 3})
		}, &rpcrdma.PeerError{rpcrdma.ErrVers, 2, 3}},
		// docs/readings.md, 6
		{"ERR_VERS in a header of another version", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.send(&rpcrdma.Header{XID: h.XID, Version: 9, Credits: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 1})
		}, &rpcrdma.PeerError{rpcrdma.ErrVers, 1, 1}},
		{"unknown error", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.send(&rpcrdma.Header{XID: h.XID, Version: 1, Credits: 1, Type: rpcrdma.TypeError, Err: 77})
		}, &rpcrdma.PeerError{Code: 77}},
		{"truncated error", true, func(p *rawPeer, h *rpcrdma.Header) {
			p.sendBytes(be32(h.XID, 1, 1, 4, 1))
		}, rpcrdma.ErrMalformed},
		{"version 2", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := *vers2
			r.XID = h.XID
			p.send(&r, replyHeader(h.XID))
		}, rpcrdma.ErrVersion},
		{"RDMA_MSGP", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeMsgP), replyHeader(h.XID)) }, rpcrdma.ErrMalformed},
		{"unknown type", true, func(p *rawPeer, h *rpcrdma.Header) { p.sendBytes(be32(h.XID, 1, 1, 5)) }, rpcrdma.ErrMalformed},
		{"another xid inside", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID+1)) }, rpcrdma.ErrXID},
		{"no message", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeMsg)) }, rpcrdma.ErrMalformed},
		{"neither call nor reply", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeMsg), be32(h.XID, 2, 0, 0)) }, rpcrdma.ErrMalformed},
		{"read list", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = []chunks.ReadSegment{{Position: 36, Segment: p.expose(make([]byte, size), transport.RemoteRead)}}
			p.send(r, result(h.XID, size))
		}, rpcrdma.ErrReplyReadList},
		{"long by read chunk", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.Reads = []chunks.ReadSegment{{Segment: p.expose(make([]byte, size), transport.RemoteRead)}}
			p.send(r)
		}, rpcrdma.ErrReplyReadList},
		{"RDMA_NOMSG without chunks", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeNoMsg)) }, rpcrdma.ErrMalformed},
		{"reply chunk not offered", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.SetReply(h.Writes[0])
			p.send(r)
		}, rpcrdma.ErrMalformed},
		{"reply chunk in use and a message", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.SetReply(h.Reply)
			p.send(r, replyHeader(h.XID))
		}, rpcrdma.ErrMalformed},
		{"reply chunk without a reply", false, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.SetReply(h.Reply)
			p.send(r)
		}, rpcrdma.ErrMalformed},
		{"reply chunk with another xid", false, func(p *rawPeer, h *rpcrdma.Header) {
			p.writeChunk(h.Reply, replyHeader(h.XID+1))
			r := header(h.XID, rpcrdma.TypeNoMsg)
			r.SetReply(h.Reply)
			p.send(r)
		}, rpcrdma.ErrXID},
		{"two write chunks of one", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			r.AddWrite(h.Writes[0])
			p.send(r, result(h.XID, size))
		}, rpcrdma.ErrMalformed},
		{"another handle", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			r.Writes[0][0].Handle++
			p.send(r, result(h.XID, size))
		}, chunks.ErrMalformed},
		{"longer than offered", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			r.Writes[0][0].Length++
			p.send(r, result(h.XID, size+1))
		}, chunks.ErrMalformed},
		{"stream says more than was written", true, func(p *rawPeer, h *rpcrdma.Header) {
			segs, _ := chunks.Distribute(nil, h.Writes[0], 100)
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(segs)
			p.send(r, result(h.XID, 101))
		}, xdr.ErrChunk},
		{"written and not in the stream", true, func(p *rawPeer, h *rpcrdma.Header) {
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			p.send(r, append(replyHeader(h.XID), be32(0, 7)...))
		}, xdr.ErrChunk},
		{"truncated", true, func(p *rawPeer, h *rpcrdma.Header) { p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID)[:20]) }, oncrpc.ErrMalformedReply},
	}
	for _, tt := range tests {
		if tt.want == rpcrdma.ErrReplyReadList && dialect == rpcrdma.Draft { //nolint:errorlint
			continue // read lists are allowed, and answered with an RDMA_DONE
		}
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{Dialect: dialect}, inline4k)
			var mem []byte
			if tt.result {
				mem = make([]byte, size)
			}
			s := start(context.Background(), c, &items{data: [][]byte{make([]byte, size)}}, mem)
			h, _ := p.next()
			tt.answer(p, h)
			err := wait(t, s.err)
			if pe, ok := tt.want.(*rpcrdma.PeerError); ok {
				var got *rpcrdma.PeerError
				if !errors.As(err, &got) || *got != *pe {
					t.Errorf("error %v, want %v", err, pe)
				}
			} else if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			// The next message that the server sees is the next call.
			s = start(context.Background(), c, &items{}, nil)
			h, body := p.next()
			if h.Type != rpcrdma.TypeMsg || len(body) < 8 {
				t.Fatalf("sent back %+v", h)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, s.err); err != nil {
				t.Errorf("next call: %v", err)
			}
		})
	}
}

// TestReplyTooLong: an ERR_CHUNK for a call without read chunks says that the reply had no room,
// and none of the other causes.
func TestReplyTooLong(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	s := start(context.Background(), c, &items{}, nil)
	h, _ := p.next()
	p.send(&rpcrdma.Header{XID: h.XID, Version: 1, Credits: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk})
	err := wait(t, s.err)
	var room *oncrpc.ReplyTooLongError
	var answer *rpcrdma.PeerError
	if !errors.As(err, &room) || !errors.As(err, &answer) {
		t.Fatalf("error %v", err)
	}
	if want := room.Error() + ": peer answered RDMA_ERROR: ERR_CHUNK"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %q, want %q at the end", err, want)
	}
}

// TestUnknownXID checks that replies and errors that match no call are dropped and counted, and do
// not cost calls under way a receive.
func TestUnknownXID(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testUnknownXID(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testUnknownXID(t, rpcrdma.Draft) })
}

func testUnknownXID(t *testing.T, dialect rpcrdma.Dialect) {
	c, p := rawServer(t, rpcrdma.Config{Dialect: dialect}, inline4k)
	s := start(context.Background(), c, &items{}, nil)
	h, _ := p.next()
	for range 5 {
		p.send(header(h.XID+1, rpcrdma.TypeMsg), replyHeader(h.XID+1))
		p.send(&rpcrdma.Header{XID: h.XID + 2, Version: 1, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk})
		p.send(header(h.XID, rpcrdma.TypeDone))
		long := header(h.XID+3, rpcrdma.TypeNoMsg) // in the reply chunk of an answered call
		long.SetReply([]chunks.Segment{{Handle: 1, Length: 100}})
		p.send(long)
	}
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Error(err)
	}
	if got := c.Stats(); got.UnknownXID != 15 || got.DonesIgnored != 5 || got.ErrorsSent != 0 {
		t.Errorf("counters %+v", got)
	}
}

// TestGrants checks that a client keeps to its grants.
func TestGrants(t *testing.T) {
	tests := []struct{ grant, want uint32 }{{0, 1}, {1, 1}, {5, 5}, {1000, 8}}
	for _, tt := range tests {
		for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(fmt.Sprint(tt.grant, " ", dialect), func(t *testing.T) { testGrants(t, dialect, tt.grant, tt.want) })
		}
	}
}

func testGrants(t *testing.T, dialect rpcrdma.Dialect, grant, want uint32) {
	c, p := rawServer(t, rpcrdma.Config{Credits: 8, Dialect: dialect}, inline4k)
	var all []*started
	for range 20 {
		all = append(all, start(context.Background(), c, &items{}, nil))
	}
	h, _ := p.next()
	if len(p.msgs) > 0 {
		t.Error("more than one call before the first reply (draft section 6.1)")
	}
	answer := func(xid uint32) {
		r := header(xid, rpcrdma.TypeMsg)
		r.Credits = grant
		p.send(r, replyHeader(xid), be32(0, 7))
	}
	answer(h.XID)
	open := []uint32{}
	for answered := 1; answered < 20; answered++ {
		for uint32(len(open)) < min(want, uint32(20-answered)) {
			h, _ := p.next()
			open = append(open, h.XID)
		}
		if len(p.msgs) > 0 {
			t.Fatalf("more than %d calls under way", want)
		}
		answer(open[0])
		open = open[1:]
	}
	for _, s := range all {
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
	}
}

// TestTooLarge checks that a call with too many segments for a header, or longer than the maximum,
// fails without being sent.
func TestTooLarge(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{MaxMessage: 1 << 20, SegmentSize: 1024}, inline4k)
	ctx := context.Background()
	call := func(n, reply int) error {
		return client(c).Do(ctx, &oncrpc.Request{Procedure: procSink, Args: &items{data: [][]byte{make([]byte, n)}}, MaxReply: reply})
	}
	var long *oncrpc.CallTooLongError
	wantLong := oncrpc.CallTooLongError{Len: 1<<20 + 56, Max: 1 << 20}
	if err := call(1<<20, 0); !errors.As(err, &long) || *long != wantLong {
		t.Errorf("call of 1 MiB: %v", err)
	}
	var room *oncrpc.ReplyTooLongError
	wantRoom := oncrpc.ReplyTooLongError{Len: 2<<20 + 24, Max: 1 << 20, NotSent: true}
	if err := call(10, 2<<20); !errors.As(err, &room) || *room != wantRoom {
		t.Errorf("reply of 2 MiB: %v", err)
	}
	if err := call(900<<10, 0); !errors.Is(err, chunks.ErrHeader) {
		t.Errorf("900 segments: %v", err)
	}
	if len(p.msgs) > 0 {
		t.Error("something was sent")
	}
	if _, inFlight, _ := c.Credits(); inFlight != 0 {
		t.Errorf("%d credits in use", inFlight)
	}
}
