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

// fill takes all of the credits of a server that grants 16, by calls that are not answered.
func (p *rawPeer) fill(r *rig) {
	p.t.Helper()
	for xid := range uint32(16) {
		p.sendCall(100+xid, procBlock, 16)
		wait(p.t, r.program.entered)
	}
}

func (p *rawPeer) sendCall(xid, proc, asked uint32) {
	p.t.Helper()
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = asked
	p.send(h, callBytes(xid, proc, &items{}))
}

// TestLoweredGrantExceeded: a client ignores a lowered grant. Posted receives cannot be recalled,
// so calls that find one are served. One call more ends the connection.
func TestLoweredGrantExceeded(t *testing.T) {
	inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
		var counters rpcrdma.Counters
		r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 16, Counters: &counters})
		p := r.raw(inline4k)
		p.alive() // grants 16
		conn := wait(t, r.program.conns)
		p.sendCall(1, procEcho, 3)
		if h, _ := p.next(); h.Credits != 3 {
			t.Fatalf("granted %d, want 3", h.Credits)
		}
		for xid := range uint32(15) {
			p.sendCall(100+xid, procBlock, 3)
			wait(t, r.program.entered)
		}
		if conn.Err() != nil {
			t.Fatalf("ended with %v", conn.Err())
		}
		p.burst(append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procNull, nil)...))
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, rpcrdma.ErrCreditsExceeded) {
			t.Errorf("ended with %v, want ErrCreditsExceeded", err)
		}
		waitFor(t, func() bool {
			return counters.Totals().Conns[conn.Info().Provider].Ended[rpcrdma.EndCredits] == 1
		})
	})
}

// TestFirstCallInFull: the first call of a peer without private data may be as long as the receives
// (docs/readings.md, 10).
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
func TestRepliesWithoutReceives(t *testing.T) { inBothDialects(t, testRepliesWithoutReceives) }

func testRepliesWithoutReceives(t *testing.T, d rpcrdma.Dialect) {
	const credits, size = 9, 9000
	var full atomic.Bool
	cfg := rpcrdma.Config{Dialect: d, Credits: credits}
	r := newRigOn(t, cfg, loopback.Config{}, withoutReceives(&full))
	p := r.raw(inline4k)
	window := []chunks.Segment{p.expose(make([]byte, 2*size), transport.RemoteWrite)}
	// call makes a call, and checks whether the answer is as it must be.
	call := func(xid uint32) (h *rpcrdma.Header, ok bool) {
		h = header(xid, rpcrdma.TypeMsg)
		body := callBytes(xid, procSource, &source{1, size})
		switch xid % 4 {
		case 0:
			body = callBytes(xid, procNull, nil)
		case 1:
			h.AddWrite(window)
		case 2:
			h.SetReply(window)
		case 3:
			body = nil // an RDMA_MSG without a message
		}
		p.send(h, body)
		got, answer := p.next()
		switch xid % 4 {
		case 0:
			ok = bytes.Equal(answer, replyHeader(xid))
		case 1:
			ok = len(got.Writes) == 1 && got.Writes[0].Len() == size
		case 2:
			ok = got.Type == rpcrdma.TypeNoMsg && got.Reply.Len() > size
		case 3:
			ok = got.Type == rpcrdma.TypeError && got.Err == rpcrdma.ErrChunk
		}
		return got, ok && got.XID == xid
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
