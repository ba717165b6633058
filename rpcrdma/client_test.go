package rpcrdma_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
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

func (p *rawPeer) writeChunk(c chunks.WriteChunk, b []byte) {
	p.t.Helper()
	for _, s := range c {
		n := min(len(b), int(s.Length))
		p.write(s, b[:n])
		b = b[n:]
	}
}

// TestBadReplies sends bad replies: the call ends with a typed error, nothing is sent back
// (docs/readings.md, 5), and the connection stays. Replies that are bad whatever the call has
// offered are in TestMalformedReplies. Good ones are in package matrix.
func TestBadReplies(t *testing.T) {
	const size = 10_001
	// An answer fills in r, and returns the message behind it.
	type answer func(p *rawPeer, h, r *rpcrdma.Header) []byte
	// returned returns the write chunk with a length that is more by this, in its last segment.
	returned := func(more uint32) answer {
		return func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			r.AddWrite(h.Writes[0])
			r.Writes[0][len(r.Writes[0])-1].Length += more
			return result(h.XID, size)
		}
	}
	inReplyChunk := func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
		r.Type = rpcrdma.TypeNoMsg
		r.SetReply(h.Reply)
		return nil
	}
	for _, tt := range []struct {
		name    string
		rfc8166 bool // only there
		result  bool // a write chunk is offered for the result, and no reply chunk
		answer  answer
		want    error
	}{
		{"reply chunk not offered", false, true, func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			r.Type = rpcrdma.TypeNoMsg
			r.SetReply(h.Writes[0])
			return nil
		}, rpcrdma.ErrMalformed},
		{"reply chunk in use and a message", false, false, func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			r.SetReply(h.Reply)
			return replyHeader(h.XID)
		}, rpcrdma.ErrMalformed},
		{"reply chunk without a reply", false, false, inReplyChunk, rpcrdma.ErrMalformed},
		{"reply chunk with another xid", false, false, func(p *rawPeer, h, r *rpcrdma.Header) []byte {
			p.writeChunk(h.Reply, replyHeader(h.XID+1))
			return inReplyChunk(p, h, r)
		}, rpcrdma.ErrXID},
		{"two write chunks of one", false, true, func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			r.AddWrite(h.Writes[0])
			r.AddWrite(h.Writes[0])
			return result(h.XID, size)
		}, rpcrdma.ErrMalformed},
		// The server seems to have the other dialect only if the excess is the round-up.
		{"longer by the round-up", true, true, returned(3), rpcrdma.ErrRoundUp},
		{"stream says more than was written", false, true, func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			segs, _ := chunks.Distribute(nil, h.Writes[0], 100)
			r.AddWrite(segs)
			return result(h.XID, 101)
		}, xdr.ErrChunk},
		{"written and not in the stream", false, true, func(_ *rawPeer, h, r *rpcrdma.Header) []byte {
			r.AddWrite(h.Writes[0])
			return append(replyHeader(h.XID), be32(0, 7)...)
		}, xdr.ErrChunk},
	} {
		inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
			if tt.rfc8166 && d != rpcrdma.RFC8166 {
				return // it allows this
			}
			t.Run(tt.name, func(t *testing.T) {
				c, p := rawServer(t, rpcrdma.Config{Dialect: d}, inline4k)
				var mem []byte
				if tt.result {
					mem = make([]byte, size)
				}
				s := start(context.Background(), c, &items{data: [][]byte{make([]byte, size)}}, mem)
				h, _ := p.next()
				r := header(h.XID, rpcrdma.TypeMsg)
				body := tt.answer(p, h, r)
				p.send(r, body)
				err := wait(t, s.err)
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if errors.Is(err, rpcrdma.ErrRoundUp) != errors.Is(tt.want, rpcrdma.ErrRoundUp) {
					t.Errorf("error %v", err)
				}
				clientWorks(t, c, p)
			})
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
