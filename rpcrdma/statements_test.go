package rpcrdma_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestStrayReplyChunk: a client that serves nothing gets a filled reply chunk for a call that has
// been answered. It counts as no call, and is not answered by an RDMA_ERROR (rfc8166-4.2.4-2).
func TestStrayReplyChunk(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{Dialect: d}, inline4k)
			s := start(t.Context(), c, &items{data: [][]byte{make([]byte, 9000)}}, nil)
			h, _ := p.next()
			msg := append(replyHeader(h.XID), be32(0, 7)...)
			p.writeChunk(h.Reply, msg)
			r := header(h.XID, rpcrdma.TypeNoMsg)
			segs, _ := chunks.Distribute(nil, h.Reply, len(msg))
			r.SetReply(segs)
			for range 3 {
				p.send(r)
			}
			if err := wait(t, s.err); err != nil {
				t.Fatal(err)
			}
			callAnswered(t, c, p) // its reply is the next message
			if got := c.Stats(); got.UnknownXID != 2 || got.ErrorsSent != 0 {
				t.Errorf("counters %+v, want two replies to no call, and no error sent", got)
			}
		})
	}
}

// TestResultNotReduced: a server sends a result inline although there is a write chunk for it
// (rfc8166-6.1-5). The client accepts it, with or without the unused chunk in the reply.
func TestResultNotReduced(t *testing.T) {
	want := pattern(1, 3000)
	for _, returned := range []bool{true, false} {
		c, p := rawServer(t, rpcrdma.Config{}, inline4k)
		s := start(t.Context(), c, &items{data: [][]byte{want}}, make([]byte, 10_000))
		h, _ := p.next()
		if len(h.Writes) != 1 {
			t.Fatalf("offered %+v", h.Lists)
		}
		r := header(h.XID, rpcrdma.TypeMsg)
		if returned {
			segs, _ := chunks.Distribute(nil, h.Writes[0], 0)
			r.AddWrite(segs)
		}
		p.send(r, replyHeader(h.XID), be32(1, 0xfeedbeef, 3000), want, be32(7))
		if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], want) {
			t.Errorf("chunk returned: %v; error %v", returned, err)
		}
	}
}

// TestItemNotEligible: a client sends data that is not bulk as read chunks: the count of items, and
// the words after each of them. That is an XDR error, and the procedure gets nothing
// (rfc8166-6.1-2, rfc8166-6.1-3).
func TestItemNotEligible(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	full := callBytes(0, procSink, &items{data: [][]byte{[]byte("data")}, tail: 7})
	for i, position := range []int{40, 44, len(full) - 4} {
		xid := uint32(1 + i)
		msg := append([]byte(nil), full...)
		copy(msg, be32(xid))
		h := header(xid, rpcrdma.TypeMsg)
		word := p.expose(msg[position:position+4], transport.RemoteRead)
		h.Reads = []chunks.ReadSegment{{Position: uint32(position), Segment: word}}
		p.send(h, msg[:position], msg[position+4:])
		got, body := p.next()
		want := append(replyHeader(xid)[:20], be32(4)...) // GARBAGE_ARGS
		if got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, want) {
			t.Errorf("position %d: %v %x, want %x", position, got.Type, body, want)
		}
	}
	if n := len(r.program.calls); n > 0 {
		t.Errorf("%d calls were executed", n)
	}
}

// TestCallBack: a server calls its client back, inline and by chunks. The bytes are like those of
// calls in the other direction (RFC 8167 section 5.1), and replies are accepted (section 5.2).
func TestCallBack(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	for _, size := range []int{100, 9000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			p.t = t
			data := pattern(1, size)
			s := start(t.Context(), conn, &items{data: [][]byte{data}, tail: 7}, make([]byte, size))
			h, body, m := p.nextMsg()
			call := callBytes(h.XID, procEcho, &items{data: [][]byte{data}, tail: 7})
			first := be32(h.XID, 1, 64, 0)
			if !bytes.HasPrefix(m.b, first) {
				t.Errorf("header begins with %x, want %x", m.b[:16], first)
			}
			reply := header(h.XID, rpcrdma.TypeMsg)
			result := callBytes(0, procEcho, &items{data: [][]byte{data}, tail: 7})[40:]
			if size > 4096 { // everything except the data is inline
				if len(h.Reads) != 1 || len(h.Writes) != 1 {
					t.Fatalf("chunk lists %+v", h.Lists)
				}
				if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, data) {
					t.Error("the read chunk differs")
				}
				call = append(call[:52:52], be32(7)...)
				p.writeChunk(h.Writes[0], data)
				reply.AddWrite(h.Writes[0])
				result = append(result[:12:12], be32(7)...)
			}
			if diff := cmp.Diff(call, body); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
			p.send(reply, replyHeader(h.XID), result)
			if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
				t.Errorf("reply: error %v", err)
			}
		})
	}
	p.t = t
}

// revokeFails is an endpoint whose Revoke fails.
type revokeFails struct{ transport.Endpoint }

func (e revokeFails) Revoke(...transport.Region) error { return transport.ErrNoMemory }

// TestRevokeFails: the windows of a call cannot be revoked after its reply. The connection has
// ended before the call returns (rfc8166-4.5.4-1).
func TestRevokeFails(t *testing.T) {
	wrap := func(ep transport.Endpoint) transport.Endpoint { return revokeFails{ep} }
	c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, wrap)
	const size = 9000
	s := start(t.Context(), c, &items{data: [][]byte{make([]byte, size)}}, make([]byte, size))
	h, _ := p.next()
	r := header(h.XID, rpcrdma.TypeMsg)
	r.AddWrite(h.Writes[0])
	p.send(r, result(h.XID, size))
	wait(t, s.err)
	select {
	case <-c.Endpoint().Done():
	default:
		t.Error("the call returned while the peer can reach its memory")
	}
	if err := c.Err(); !errors.Is(err, transport.ErrNoMemory) {
		t.Errorf("ended with %v, want ErrNoMemory", err)
	}
}

// sendFails is an endpoint that refuses to post anything but what a test lets it.
type sendFails struct {
	transport.Endpoint
	fails chan struct{} // closed: fail from now on
}

var errPost = errors.New("not posted")

func (e sendFails) Post(wrs ...*transport.WorkRequest) error {
	select {
	case <-e.fails:
		return errPost
	default:
		return e.Endpoint.Post(wrs...)
	}
}

// TestReplyNotPosted: a server's endpoint refuses to post a reply, or an RDMA_ERROR. The connection
// ends, so that the client learns of it (rfc8166-4.5.4-2).
func TestReplyNotPosted(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  []byte
	}{
		{"a reply", withCall(head(rpcrdma.TypeMsg, 0, 0, 0))(9)},
		{"an error", head(77)(9)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fails := make(chan struct{})
			wrap := func(ep transport.Endpoint) transport.Endpoint { return sendFails{ep, fails} }
			r := newRigOn(t, rpcrdma.Config{}, loopback.Config{}, wrap)
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			close(fails)
			p.sendBytes(tt.msg)
			ended(t, conn)
			if err := conn.Err(); !errors.Is(err, errPost) {
				t.Errorf("ended with %v, want what Post said", err)
			}
			wait(t, p.ep.Done())
		})
	}
}

// TestStrayGrants sends a client messages without a known direction, or that match no call. Their
// credits are neither a grant nor a request (rfc8167-4.1-1).
func TestStrayGrants(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	serveBack(t, c)
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	r := header(h.XID, rpcrdma.TypeMsg)
	r.Credits = 7
	p.send(r, replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Fatal(err)
	}
	other := h.XID + 1
	for _, m := range [][]byte{
		be32(other, 1, 50, uint32(rpcrdma.TypeDone)),
		be32(other, 1, 50, uint32(rpcrdma.TypeError), uint32(rpcrdma.ErrChunk)),
		be32(other, 1, 50, uint32(rpcrdma.TypeError)),
		append(be32(other, 1, 50, uint32(rpcrdma.TypeMsg), 0, 0, 0), replyHeader(other)...),
	} {
		p.sendBytes(m)
	}
	p.alive() // a call, the first to be answered
	if grant, _, _ := c.Credits(); grant != 7 {
		t.Errorf("granted %d, want 7", grant)
	}
}
