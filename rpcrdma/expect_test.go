package rpcrdma_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestExpectPosted asks for longer receives where receives have memory when they are posted. A
// message must never find a posted receive that is too short for it.
func TestExpectPosted(t *testing.T) {
	t.Run("a call under way", func(t *testing.T) {
		c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, withoutAbilities)
		waitFor(t, func() bool { // the receive for a call by the peer
			return p.clientLedger.state().Awaited == 1
		})
		if got := c.EnlargeReceives(8192); got != 8192 {
			t.Fatalf("expected %d with one receive that the next message uses up, want 8192", got)
		}
		s := start(t.Context(), c, &items{}, nil)
		h, _ := p.next()
		if got := c.EnlargeReceives(16384); got != 4096 {
			t.Errorf("expected %d with receives of 4096 and 8192 posted, want 4096", got)
		}
		p.answer(h.XID)
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
	})
	t.Run("several calls granted", func(t *testing.T) {
		c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, withoutAbilities)
		serveBack(t, c)
		p.sendCall(1, procNull, 2)
		p.next()
		if got := c.EnlargeReceives(8192); got != 4096 {
			t.Errorf("expected %d with two receives of 4096 posted, want 4096", got)
		}
	})
}

// TestExpectMemory asks for longer receives where memory is limited. An idle connection needs none
// for that. A busy one reserves it for everything that its peer may send, or keeps short receives.
func TestExpectMemory(t *testing.T) {
	const credits, size = 8, 40_000
	const longer = 1<<16 - testReceiveSize
	for _, tt := range []struct {
		name   string
		memory int64
		busy   bool
		want   int
	}{
		{"idle", 4 * credits << 16, false, size},
		{"idle, little memory", credits * testReceiveSize, false, size},
		{"busy", 8 * credits << 16, true, size},
		{"busy, little memory", credits * testReceiveSize, true, testReceiveSize},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cr := newManyClients(t, "loopback", 1,
				rpcrdma.Config{Credits: credits, ReceiveMemory: tt.memory})
			c := cr.clients[0]
			together(t, c, 1)
			conn := wait(t, cr.program.conns)
			idle := func() bool { return cr.idle(conn) }
			waitFor(t, idle)
			var blocked chan error
			if tt.busy {
				blocked = block(t, c)
				wait(t, cr.program.entered)
			}
			before, _, _ := conn.ReceiveMemory()
			if got := conn.EnlargeReceives(size); got != tt.want {
				t.Errorf("expected %d, want %d", got, tt.want)
			}
			want, have := int64(0), cr.ledgers.of(t, conn).state()
			if tt.busy && tt.want == size {
				want = longer * int64(have.Awaited)
			}
			if free, _, _ := conn.ReceiveMemory(); before-free != want || have.Ready != tt.busy {
				t.Errorf("%d bytes are reserved for it, want %d; for all: %v", before-free, want, have.Ready)
			}
			if tt.busy {
				cr.program.pass(t)
				if err := wait(t, blocked); err != nil {
					t.Error(err)
				}
			}
			together(t, c, credits)
			waitFor(t, idle)
			if free, all, _ := conn.ReceiveMemory(); free != all {
				t.Errorf("%d bytes of %d are free in the end", free, all)
			}
		})
	}
}

// expectProgram has a procedure that expects a number of bytes and returns the answer.
func expectProgram() oncrpc.Program {
	return oncrpc.Program{Number: testProgram, Version: 3, Procedures: []oncrpc.Procedure{
		1: {Name: "EXPECT", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			n := c.Conn.(*rpcrdma.Conn).EnlargeReceives(int(int32(c.Args.Uint32())))
			c.Results.Uint32(uint32(n))
			return nil
		}},
	}}
}

// word is one unsigned integer.
type word uint32

func (w word) MarshalXDR(e *xdr.Encoder) { e.Uint32(uint32(w)) }

// expect has the server expect n bytes, and returns its answer.
func (p *rawPeer) expect(n int) int {
	p.t.Helper()
	m := callBytes(70, 1, word(uint32(n)))
	binary.BigEndian.PutUint32(m[16:], 3)
	p.send(header(70, rpcrdma.TypeMsg), m)
	_, body := p.next()
	return int(binary.BigEndian.Uint32(body[24:]))
}

// TestExpectInHandler asks a server for longer receives. If receives have memory when they are
// posted, that works in the first call, when no shorter one is posted, but not later. Promised
// receives can get longer at any time. The size that a handler was told fits in every posted
// receive.
func TestExpectInHandler(t *testing.T) {
	for _, tt := range []struct {
		name      string
		n, want   int
		late      bool // another call is sent first
		thenLarge int  // size that the next call asks for
		then      int  // which gets
		shared    bool
	}{
		{"more", 8192, 8192, false, 4096, 8192, false},
		{"more than there may be", 1 << 20, 65536, false, 70_000, 65536, false},
		{"negative", -5, 4096, false, -5, 4096, false},
		{"too late", 8192, 4096, true, 8192, 4096, false},
		{"more promised", 8192, 8192, false, 4096, 8192, true},
		{"as much promised as there may be", 65536, 65536, false, 65536, 65536, true},
		{"never too late", 8192, 8192, true, 10000, 10000, true},
	} {
		for _, align := range []int{0, 512} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, align), func(t *testing.T) {
				wrap := sameEndpoint
				if !tt.shared {
					wrap = withoutReceives(new(atomic.Bool)) // without optional interfaces
				}
				cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: align, Credits: 4}
				r := newRigOn(t, cfg, loopback.Config{}, wrap)
				r.server.Handle(expectProgram())
				p := r.raw(inline4k)
				if tt.late {
					p.alive()
				}
				if got := p.expect(tt.n); got != tt.want {
					t.Fatalf("expected %d of %d asked for, want %d", got, tt.n, tt.want)
				}
				for xid := range uint32(12) {
					h := header(xid, rpcrdma.TypeMsg)
					data := make([]byte, (tt.want-h.Len()-56)/4*4)
					p.send(h, callBytes(xid, procSink, &items{data: [][]byte{data}}))
					if got, _ := p.next(); got.Type != rpcrdma.TypeMsg {
						t.Fatalf("Send of %d bytes: %v", tt.want, got.Type)
					}
				}
				if got := p.expect(tt.thenLarge); got != tt.then {
					t.Errorf("expected %d of %d later, want %d", got, tt.thenLarge, tt.then)
				}
			})
		}
	}
}
