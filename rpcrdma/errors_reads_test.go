package rpcrdma_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestReadListNotAgreed: a client sends read lists although it agreed to serve no RDMA Reads (draft
// section 6.2). Nothing is read.
func TestReadListNotAgreed(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		r := newRig(t, rpcrdma.Config{Dialect: d})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		conn.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 0 })
		before := r.ledgers.of(t, conn).state()
		for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg} {
			counters := conn.Stats()
			rc := newReadCall(p, 9, false, 5000)
			if rc.h.Type = typ; typ == rpcrdma.TypeNoMsg {
				rc.h.Reads = append(rc.h.Reads,
					chunks.ReadSegment{Segment: p.expose(rc.body, transport.RemoteRead)})
				rc.body = nil
			}
			p.send(rc.h, rc.body)
			if got, want := p.nextBytes(), errChunk(9, 32); string(got) != string(want) {
				t.Errorf("%v %v: answer %x, want %x", d, typ, got, want)
			}
			p.alive()
			if diff := cmp.Diff(rpcrdma.Stats{CallsReceived: 2, Malformed: 1, ErrorsSent: 1}, counted(counters, conn.Stats())); diff != "" {
				t.Errorf("%v %v: counters (-want +got):\n%s", d, typ, diff)
			}
		}
		waitFor(t, func() bool { return r.ledgers.of(t, conn).state() == before })
		// The calls of memoryBack need these Reads.
		conn.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 16 })
		r.memoryBack(p)
	}
}

// TestReplyReadsHalfExposed: the provider fails to expose part of a reply that the client should
// read. The client gets ERR_CHUNK, and no memory stays in use.
func TestReplyReadsHalfExposed(t *testing.T) {
	var left atomic.Int32
	wrap := func(ep transport.Endpoint) transport.Endpoint { return fewWindows{ep, &left} }
	r := newRigOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, loopback.Config{}, wrap)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	before := r.ledgers.of(t, conn).state()
	for n := range int32(3) {
		left.Store(n)
		p.send(header(9, rpcrdma.TypeMsg), callBytes(9, procSource, &source{3, 5000}))
		if got, want := p.nextBytes(), errChunk(9, 32); string(got) != string(want) {
			t.Errorf("%d windows: answer %x, want %x", n, got, want)
		}
		p.alive()
		r.freed(3)
		waitFor(t, func() bool { return r.ledgers.of(t, conn).state() == before })
		left.Store(100)
		r.memoryBack(p)
	}
	left.Store(100)
	p.source(9, 3, 5000)
	p.done(9)
	r.freed(3)
	r.memoryBack(p)
}

// fewWindows is an endpoint that can expose as much memory as is left.
type fewWindows struct {
	transport.Endpoint
	left *atomic.Int32
}

func (e fewWindows) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	if e.left.Add(-1) < 0 {
		return dst, transport.ErrNoMemory
	}
	return e.Endpoint.Expose(dst, list, access)
}
