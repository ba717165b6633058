package rpcrdma_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestFirstCallInFull: the first call of a peer without private data may be as long as the receives
// (draft section 6.1: the server MAY exceed 1 KB).
func TestFirstCallInFull(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(privateData{})
	m := callMessage(7, procSink, &items{data: [][]byte{make([]byte, 4096-28-40-16)}})
	h := header(7, rpcrdma.TypeMsg)
	body := m.AppendTo(nil)
	if n := h.Len() + len(body); n != 4096 {
		t.Fatalf("%d bytes", n)
	}
	p.send(h, body)
	if h, body := p.next(); h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(7)) {
		t.Errorf("reply %v %x", h.Type, body)
	}
}

// noReceives is an endpoint that takes no receives once full is set.
type noReceives struct {
	transport.Endpoint
	full *atomic.Bool
}

func (e noReceives) PostRecv(rs ...*transport.RecvRequest) error {
	if e.full.Load() {
		return transport.ErrNoMemory
	}
	return e.Endpoint.PostRecv(rs...)
}

// withoutReceives has endpoints be noReceives.
func withoutReceives(full *atomic.Bool) endpointWrapper {
	return func(ep transport.Endpoint) transport.Endpoint { return noReceives{ep, full} }
}

// TestRepliesWithoutReceives: a server answers when no more receives can be posted (rpcrdma-3.3-3),
// with replies of each kind and an error. It grants only what is still posted, until the next call
// would find no receive.
func TestRepliesWithoutReceives(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) { testRepliesWithoutReceives(t, d) })
	}
}

func testRepliesWithoutReceives(t *testing.T, d rpcrdma.Dialect) {
	const credits, size = 9, 9000
	var full atomic.Bool
	cfg := rpcrdma.Config{Dialect: d, Credits: credits}
	r := newRigOn(t, cfg, loopback.Config{}, withoutReceives(&full))
	p := r.raw(inline4k)
	mem := make([]byte, 2*size)
	window := p.expose(mem, transport.RemoteWrite)
	kinds := []struct {
		call func(h *rpcrdma.Header) []byte
		want func(h *rpcrdma.Header, body []byte) bool
	}{
		{
			func(h *rpcrdma.Header) []byte { return callBytes(h.XID, procNull, nil) },
			func(h *rpcrdma.Header, body []byte) bool {
				return bytes.Equal(body, replyHeader(h.XID))
			},
		},
		{
			func(h *rpcrdma.Header) []byte {
				h.AddWrite([]chunks.Segment{window})
				return callBytes(h.XID, procSource, &source{1, size})
			},
			func(h *rpcrdma.Header, _ []byte) bool {
				return len(h.Writes) == 1 && h.Writes[0].Len() == size
			},
		},
		{
			func(h *rpcrdma.Header) []byte {
				h.SetReply([]chunks.Segment{window})
				return callBytes(h.XID, procSource, &source{1, size})
			},
			func(h *rpcrdma.Header, _ []byte) bool {
				return h.Type == rpcrdma.TypeNoMsg && h.Reply.Len() > size
			},
		},
		{
			func(h *rpcrdma.Header) []byte { return nil }, // an RDMA_MSG without a message
			func(h *rpcrdma.Header, _ []byte) bool {
				return h.Type == rpcrdma.TypeError && h.Err == rpcrdma.ErrChunk
			},
		},
	}
	call := func(xid uint32) (h *rpcrdma.Header, ok bool) {
		k := kinds[xid%uint32(len(kinds))]
		h = header(xid, rpcrdma.TypeMsg)
		body := k.call(h)
		p.send(h, body)
		got, answer := p.next()
		return got, got.XID == xid && k.want(got, answer)
	}
	if h, ok := call(0); !ok || h.Credits != credits {
		t.Fatalf("granted %d, want %d", h.Credits, credits)
	}
	conn := wait(t, r.program.conns)
	full.Store(true)
	for want := uint32(credits - 1); want > 0; want-- {
		if h, ok := call(2 + want); !ok || h.Credits != want {
			t.Fatalf("answer %+v, want one that grants %d", h, want)
		}
	}
	p.send(header(100, rpcrdma.TypeMsg), callBytes(100, procNull, nil)) // uses the last receive
	ended(t, conn)
	if err := conn.Err(); !errors.Is(err, transport.ErrNoMemory) {
		t.Errorf("ended with %v, want ErrNoMemory", err)
	}
}
