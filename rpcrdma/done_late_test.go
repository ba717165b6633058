package rpcrdma_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// slowReader is a replyReader in virtual time, whose server's Sends can be made slow.
func slowReader(t testing.TB) (*replyReader, *slowSends) {
	made := make(chan *slowSends, 1024)
	cfg := smallShare
	cfg.PeerTimeout = time.Hour
	r := newRigOn(t, cfg, loopback.Config{}, func(ep transport.Endpoint) transport.Endpoint {
		e := &slowSends{Endpoint: ep, held: make(chan func(), 1024)}
		made <- e
		return e
	})
	return r.replyReader(inline4k), wait(t, made)
}

// finish ends the slowness, and completes what was held.
func (e *slowSends) finish() {
	e.slow.Store(false)
	for len(e.held) > 0 {
		(<-e.held)()
	}
}

// TestDones sends RDMA_DONEs before the Sends of the replies are complete, and twice. The memory of
// a reply is given back once: when it is acknowledged, and sent.
func TestDones(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, ep := slowReader(t)
		ep.slow.Store(true)
		d.source(9, 2, 5001)
		d.sendCall(10, procNull, 16)
		d.next()
		d.done(10) // for a reply without a read list
		d.done(9)
		d.done(9)
		d.alive()
		d.checkReceives(d.ledgers.of(t, d.conn))
		quarters(4)
		d.notFreed()
		ep.finish()
		d.freed(2)
		d.done(9)
		quarters(8) // PeerTimeout does not apply any more
		d.finish(1, 3, 0)
	})
}

// TestEarlyDoneStalls: the RDMA_DONE for a reply comes before its Send is complete, and then the
// peer takes nothing more. PeerTimeout applies to the Send, and so to the reply's memory.
func TestEarlyDoneStalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, ep := slowReader(t)
		ep.slow.Store(true)
		d.source(9, 2, 5001)
		d.done(9)
		quarters(4)
		if err := d.conn.Err(); err != nil {
			t.Errorf("ended within PeerTimeout: %v", err)
		}
		quarters(1)
		ended(t, d.conn)
		if err := d.conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
			t.Errorf("ended with %v, want %v", err, rpcrdma.ErrStalled)
		}
		d.notFreed()
		ep.finish()
		d.freed(2)
		d.memoryBack()
	})
}

// TestNeverDone: a client sends no RDMA_DONE within PeerTimeout, again and again. The memory is
// taken back each time, and the connection stays (draft section 3.8) until the client reads that
// memory. Each missing RDMA_DONE keeps a receive, so in the end its connection ends in any case,
// but no other.
func TestNeverDone(t *testing.T) {
	for _, reads := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			d, _ := slowReader(t)
			other := d.replyReader(inline4k)
			for i := range uint64(smallShare.Credits) {
				h := d.source(9, 1, 5001)
				quarters(5)
				d.freed(1)
				if got := d.conn.Stats().DonesMissed; got != i+1 {
					t.Errorf("%d RDMA_DONEs missed, want %d", got, i+1)
				}
				if reads && i == 3 {
					if d.canRead(h.Reads[0].Segment) {
						t.Error("memory that was taken back can be read")
					}
					break
				}
			}
			ended(t, d.conn)
			if err := d.conn.Err(); errors.Is(err, rpcrdma.ErrStalled) == reads {
				t.Errorf("reads %v: ended with %v", reads, err)
			}
			other.finish(0, 0, 0)
		})
	}
}
