package rpcrdma_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// moving is an endpoint of the server. The test decides when its requests complete, and how much it
// reports as moved.
type moving struct {
	slowSends
	sent, received, read atomic.Uint64
}

func (e *moving) Progress() transport.Progress {
	return transport.Progress{Sent: e.sent.Load(), Received: e.received.Load(), Read: e.read.Load()}
}

// TestSlowPeer: calls wait for a peer for many times PeerTimeout. While the bytes move that a call
// waits for, its connection stays. If only others move, or too few, the connection ends.
func TestSlowPeer(t *testing.T) {
	const (
		enough  = 4 << 20 // in a quarter of PeerTimeout: enough for an hour at 1 KiB a second
		trickle = 10 << 10
	)
	reads := func(p *rawPeer) {
		rc := newReadCall(p, 9, false, 50)
		p.send(rc.h, rc.body)
	}
	reply := func(p *rawPeer) { p.send(header(9, rpcrdma.TypeMsg), callBytes(9, procNull, nil)) }
	tests := []struct {
		name  string
		call  func(p *rawPeer)
		moves func(e *moving)
		stays bool
	}{
		{"Reads/answered slowly", reads, func(e *moving) { e.read.Add(enough) }, true},
		{"Reads/a trickle", reads, func(e *moving) { e.read.Add(trickle) }, false},
		{"Reads/calls instead of answers", reads, func(e *moving) { e.received.Add(enough) }, false},
		{"Reads/replies taken instead", reads, func(e *moving) { e.sent.Add(enough) }, false},
		{"reply/taken slowly", reply, func(e *moving) { e.sent.Add(enough) }, true},
		{"reply/behind Reads that are answered", reply, func(e *moving) { e.read.Add(enough) }, true},
		{"reply/a trickle", reply, func(e *moving) { e.sent.Add(trickle) }, false},
		{"reply/calls instead", reply, func(e *moving) { e.received.Add(enough) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p, e, conn := newMoving(t, rpcrdma.Config{PeerTimeout: time.Hour})
				e.slow.Store(true)
				tt.call(p)
				held := wait(t, e.held)
				for range 12 {
					tt.moves(e)
					quarters(1)
				}
				if stays := conn.Err() == nil; stays != tt.stays {
					t.Errorf("the connection stays: %v, want %v; it has ended with %v", stays, tt.stays, conn.Err())
				}
				quarters(6) // nothing moves meanwhile
				if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
					t.Errorf("the connection has ended with %v, want %v", err, rpcrdma.ErrStalled)
				}
				held()
				ended(t, conn)
			})
		})
	}
}

// newMoving connects a peer that is played by hand to a server on a provider that tells progress.
func newMoving(t *testing.T, cfg rpcrdma.Config) (*rawPeer, *moving, *rpcrdma.Conn) {
	p, e, r := newMovingRig(t, cfg)
	return p, e, wait(t, r.program.conns)
}

func newMovingRig(t *testing.T, cfg rpcrdma.Config) (*rawPeer, *moving, *rig) {
	made := make(chan *moving, 1)
	r := newRigOn(t, cfg, loopback.Config{}, func(ep transport.Endpoint) transport.Endpoint {
		e := &moving{slowSends: slowSends{Endpoint: ep, held: make(chan func(), 1024)}}
		made <- e
		return e
	})
	p := r.raw(inline4k)
	p.alive()
	return p, wait(t, made), r
}
