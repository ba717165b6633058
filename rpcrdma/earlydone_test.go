package rpcrdma_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestEarlyDoneStalls: the RDMA_DONE for a reply comes before its Send is complete, and then the
// peer takes nothing more. PeerTimeout still applies to the Send, and so to the reply's memory.
func TestEarlyDoneStalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, early := range []bool{false, true} {
			r, made := newSlowRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour})
			other := r.raw(inline4k)
			other.alive()
			wait(t, made)
			wait(t, r.program.conns)
			p := r.raw(inline4k)
			p.alive()
			ep, conn := wait(t, made), wait(t, r.program.conns)
			ep.slow.Store(true)
			p.source(9, 2, 5001)
			if early {
				p.done(9)
				waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
			}
			quarters(4)
			if err := conn.Err(); err != nil {
				t.Errorf("early %v: ended within PeerTimeout: %v", early, err)
			}
			quarters(1)
			if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
				t.Fatalf("early %v: after PeerTimeout the connection has ended with %v, want %v", early, err, rpcrdma.ErrStalled)
			}
			ended(t, conn)
			r.notFreed()
			wait(t, ep.held)()
			r.freed(2)
			r.memoryBack(other)
		}
	})
}

// TestEarlyDoneSent: the Send completes in time after all. That ends the reply, and PeerTimeout no
// longer applies.
func TestEarlyDoneSent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r, made := newSlowRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour})
		p := r.raw(inline4k)
		p.alive()
		ep, conn := wait(t, made), wait(t, r.program.conns)
		ep.slow.Store(true)
		p.source(9, 2, 5001)
		p.done(9)
		waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
		quarters(4)
		r.notFreed()
		ep.slow.Store(false)
		wait(t, ep.held)()
		r.freed(2)
		quarters(8)
		p.alive()
		if got := conn.Stats(); got.DonesReceived != 1 || got.DonesMissed != 0 {
			t.Errorf("counters %+v", got)
		}
		r.memoryBack(p)
	})
}
