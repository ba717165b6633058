package rpcrdma_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestCopyBack offers a write chunk over a provider that cannot import the caller's memory. The
// chunk is memory of the pool, which is copied to the caller's memory afterwards. Only what the
// server claims to have written is copied, whatever else the reply has to be read.
func TestCopyBack(t *testing.T) {
	const size = 5000
	for _, tt := range []struct {
		name   string
		writes int // bytes of the write chunk returned; -1: none
		reads  int // bytes of the read chunk
	}{
		{"part written", 700, 0},
		{"read chunk in place of a write list, longer than the buffer", -1, 20_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k, withoutAbilities)
			clientWorks(t, c, p)
			land, written := bytes.Repeat([]byte{0xee}, size), pattern(1, max(tt.writes, 0))
			s := start(t.Context(), c, &items{}, land)
			s.reply.land = false // the test checks its results itself
			h, _ := p.next()
			want := bytes.Clone(land)
			copy(want, written)
			p.writeChunk(h.Writes[0], written)
			r := header(h.XID, rpcrdma.TypeMsg)
			if tt.writes >= 0 {
				segs, _ := chunks.Distribute(nil, h.Writes[0], len(written))
				r.AddWrite(segs)
			}
			if tt.reads > 0 {
				r.Reads = p.readSegments(36, pattern(2, tt.reads))
			}
			p.send(r, result(h.XID, len(written)+tt.reads))
			if tt.reads > 0 {
				p.nextDone(h.XID, 64)
			}
			err := wait(t, s.err)
			if !bytes.Equal(land, want) {
				t.Errorf("the caller's memory has other than the %d bytes written", len(written))
			}
			if err != nil || !bytes.Equal(s.reply.data[0], append(written, pattern(2, tt.reads)...)) {
				t.Errorf("error %v, or the result differs", err)
			}
			clientWorks(t, c, p)
		})
	}
}

// TestSlowDone: a client sends its RDMA_DONE at once, but after much other data on a slow link.
func TestSlowDone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p, e, conn := newMoving(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerTimeout: time.Hour})
		for _, moves := range []*atomic.Uint64{&e.sent, &e.received} {
			p.source(9, 2, 5001)
			for range 12 {
				moves.Add(4 << 20)
				quarters(1)
			}
			if n := conn.Stats().DonesMissed; n != 0 {
				t.Errorf("%d RDMA_DONEs missed while bytes move", n)
			}
			p.done(9)
			p.alive()
		}
	})
}

// TestShareOfPinned: a client of the Draft leaves a reply unread on each of many connections,
// beyond its host's share and the server's memory. Calls of another host still find memory.
func TestShareOfPinned(t *testing.T) {
	r := newRig(t, smallShare)
	const conns = 12
	for range conns {
		p := r.raw(inline4k)
		p.ask(1)
		p.answered(1)
	}
	r.dialer = r.fabric.Dialer(loopback.Config{})
	good := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
	for range 3 {
		args := &items{data: [][]byte{pattern(1, third)}}
		req := &oncrpc.Request{Procedure: procSink, Args: args, MaxReply: 100}
		if err := client(good).Do(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-r.program.freed:
		t.Error("the memory of a reply was taken back")
	default:
	}
}
