package rpcrdma_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestDoneOvertakes has the RDMA_DONE arrive before the Send of the reply is known to be complete.
func TestDoneOvertakes(t *testing.T) {
	r, made := newSlowRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := r.raw(inline4k)
	p.alive()
	ep, conn := wait(t, made), wait(t, r.program.conns)
	ep.slow.Store(true)
	p.source(9, 2, 5001)
	p.done(9)
	p.done(9) // twice, before the reply is known to have left
	waitFor(t, func() bool { return conn.Stats().DonesIgnored == 1 })
	r.notFreed()
	ep.slow.Store(false)
	wait(t, ep.held)()
	r.freed(2)
	p.done(9) // once more, for no reply
	p.alive()
	r.notFreed()
	if got := conn.Stats(); got.DonesReceived != 1 || got.DonesIgnored != 2 {
		t.Errorf("counters %+v", got)
	}
	r.memoryBack(p)
}

// TestDoneOvertakesTwice: RDMA_DONEs arrive before Sends are known to be complete: two for one
// reply, and one for a reply without a read list. The second of the two, and the last, are ignored.
func TestDoneOvertakesTwice(t *testing.T) {
	r, made := newSlowRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := r.raw(inline4k)
	p.alive()
	ep, conn := wait(t, made), wait(t, r.program.conns)
	ep.slow.Store(true)
	p.source(9, 1, 5001)
	p.send(header(10, rpcrdma.TypeMsg), callBytes(10, procNull, nil))
	p.next()
	p.done(10)
	p.done(9)
	p.done(9)
	waitFor(t, func() bool { s := conn.Stats(); return s.DonesReceived+s.DonesIgnored == 3 })
	if got := conn.Stats(); got.DonesReceived != 1 || got.DonesIgnored != 2 {
		t.Errorf("counters %+v", got)
	}
	p.checkReceives(r.ledgers.of(t, conn))
	r.notFreed()
	ep.slow.Store(false)
	for len(ep.held) > 0 {
		(<-ep.held)()
	}
	r.freed(1)
	p.checkReceives(r.ledgers.of(t, conn))
	r.memoryBack(p)
}

// TestDonesIgnored sends more RDMA_DONEs that acknowledge nothing than there are credits. They are
// counted, and have no effect on receives or replies.
func TestDonesIgnored(t *testing.T) {
	for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(dialect.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: dialect, Credits: 4, ConnMemory: 16 << 20, ServerMemory: 32 << 20})
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			want := uint64(0)
			if dialect == rpcrdma.Draft {
				p.source(9, 1, 5001)
			}
			for i := range uint32(20) {
				p.done(100 + i)
				want++
			}
			p.alive()
			r.notFreed()
			if dialect == rpcrdma.Draft {
				p.done(9)
				r.freed(1)
			}
			for range 20 {
				p.done(9)
				want++
			}
			p.alive()
			r.notFreed()
			if got := conn.Stats().DonesIgnored; got != want {
				t.Errorf("%d RDMA_DONEs ignored, want %d", got, want)
			}
			r.memoryBack(p)
			if p.checkReceives(r.ledgers.of(t, conn)); p.granted != 4 {
				t.Errorf("granted %d, want 4", p.granted)
			}
		})
	}
}

// TestDonesOfOneXID: two replies with the same XID are pinned. Each RDMA_DONE frees one, the older
// one first.
func TestDonesOfOneXID(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	p.source(9, 2, 5001)
	second := p.source(9, 3, 5001)
	p.done(9)
	r.freed(2)
	p.alive()
	r.notFreed()
	if got := p.read(second.Reads[0].Segment); !bytes.Equal(got, pattern(0, 5001)) {
		t.Error("the second reply differs")
	}
	p.done(9)
	r.freed(3)
	p.alive()
	r.notFreed()
	if got := conn.Stats(); got.DonesReceived != 2 || got.DonesIgnored != 0 {
		t.Errorf("counters %+v", got)
	}
	r.memoryBack(p)
}

// TestDoneMissed: a client sends no RDMA_DONE within PeerTimeout. The memory is taken back, and the
// connection stays (draft section 3.8) until the client reads that memory. A late RDMA_DONE does no
// harm.
func TestDoneMissed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: 20 * time.Millisecond})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		first := p.source(9, 2, 5001)
		p.source(10, 1, 5001)
		r.freed(3)
		waitFor(t, func() bool { return conn.Stats().DonesMissed == 2 })
		r.memoryBack(p)
		took := conn.Stats().DonesReceived
		p.alive()
		p.done(9)
		p.alive()
		p.done(10)
		p.alive()
		r.notFreed()
		if got := conn.Stats(); got.DonesMissed != 2 || got.DonesReceived != took || got.DonesIgnored != 2 {
			t.Errorf("counters %+v", got)
		}
		p.checkReceives(r.ledgers.of(t, conn))

		other := r.raw(inline4k)
		s := first.Reads[0].Segment
		if p.canRead(s) {
			t.Error("memory that was taken back can be read")
		}
		ended(t, conn)
		other.alive()
	})
}

// TestDoneMissedAgain: two replies are not acknowledged. In between nothing waits for the client,
// so that no clock runs.
func TestDoneMissedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		for range 2 {
			p.source(9, 1, 5001)
			quarters(5)
			r.freed(1)
			quarters(5)
		}
		p.alive()
		if got := conn.Stats(); got.DonesMissed != 2 {
			t.Errorf("counters %+v", got)
		}
	})
}

// TestNeverDone: a client gets its replies but never sends an RDMA_DONE. Their memory is taken back
// each time. Each missing RDMA_DONE keeps a receive, so in the end its connection ends, but no
// other.
func TestNeverDone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: 8, PeerTimeout: 20 * time.Millisecond})
		other := r.raw(inline4k)
		other.alive()
		wait(t, r.program.conns)
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		replies := 0
		for lost := false; !lost; {
			b := append(header(9, rpcrdma.TypeMsg).Append(nil),
				callBytes(9, procSource, &source{1, 5001})...)
			wr := transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{{Bytes: b}},
				Done: make(completer, 1)}
			if p.ep.Post(&wr) != nil {
				break
			}
			select {
			case <-p.msgs:
				if replies++; replies > 8 {
					t.Fatal("the server answers as if there were RDMA_DONEs")
				}
			case <-p.ep.Done():
				lost = true
			case <-time.After(patience):
				t.Fatalf("nothing happened after %d replies: %+v", replies, conn.Stats())
			}
		}
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
			t.Errorf("ended with %v, want %v", err, rpcrdma.ErrStalled)
		}
		if replies < 8 {
			t.Errorf("the connection ended after %d replies", replies)
		}
		waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
		r.memoryBack(other)
	})
}

// allBack ends the server, and checks that no memory of the provider is missing. All clients must
// have ended.
func (r *rig) allBack() {
	r.t.Helper()
	r.server.Close()
	err := wait(r.t, r.served)
	r.served <- err
	if n, size := r.fabric.Domain().Allocated(); n != 0 {
		r.t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
	}
}
