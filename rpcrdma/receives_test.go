package rpcrdma_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestFirstCallInFull has the first call of a peer that says nothing be as long as the receives are
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

// TestRepliesWithoutReceives has a server answer when no receives can be posted (rpcrdma-3.3-3):
// what is granted is what is posted still, until the next call would find nothing.
func TestRepliesWithoutReceives(t *testing.T) {
	const credits = 8
	var full atomic.Bool
	r := newRigOn(t, rpcrdma.Config{Credits: credits}, loopback.Config{}, withoutReceives(&full))
	p := r.raw(inline4k)
	call := func(xid uint32) {
		h := header(xid, rpcrdma.TypeMsg)
		p.send(h, callBytes(xid, procNull, nil))
	}
	call(1)
	if h, _ := p.next(); h.Credits != credits {
		t.Fatalf("granted %d, want %d", h.Credits, credits)
	}
	conn := wait(t, r.program.conns)
	full.Store(true)
	for want := uint32(credits - 1); want > 0; want-- {
		call(2 + want)
		h, body := p.next()
		if h.Credits != want || !bytes.Equal(body, replyHeader(2+want)) {
			t.Fatalf("granted %d, want %d, reply %x", h.Credits, want, body)
		}
	}
	call(100) // uses the last one up
	ended(t, conn)
	if err := conn.Err(); !errors.Is(err, transport.ErrNoMemory) {
		t.Errorf("ended with %v, want ErrNoMemory", err)
	}
}
