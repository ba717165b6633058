package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestGranted checks that a server grants what is asked for, but at least one and at most its
// limit.
func TestGranted(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testGranted(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testGranted(t, rpcrdma.Draft) })
}

func testGranted(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Credits: 16, Dialect: dialect})
	p := r.raw(inline4k)
	for i, tt := range []struct{ asked, want uint32 }{{5, 5}, {0, 1}, {16, 16}, {17, 16}, {1 << 31, 16}, {2, 2}, {0xffffffff, 16}} {
		h := header(uint32(i), rpcrdma.TypeMsg)
		h.Credits = tt.asked
		p.send(h, callBytes(h.XID, procNull, nil))
		if got, _ := p.next(); got.Credits != tt.want {
			t.Errorf("asked for %d: granted %d, want %d", tt.asked, got.Credits, tt.want)
		}
	}
}

// TestReceivesFollowGrants uses all granted credits at once, again and again, and finally one more.
func TestReceivesFollowGrants(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testReceivesFollowGrants(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testReceivesFollowGrants(t, rpcrdma.Draft) })
}

func testReceivesFollowGrants(t *testing.T, dialect rpcrdma.Dialect) {
	r := newRig(t, rpcrdma.Config{Credits: 16, Dialect: dialect})
	p := r.raw(inline4k)
	call := func(xid, proc, asked uint32) {
		h := header(xid, rpcrdma.TypeMsg)
		h.Credits = asked
		p.send(h, callBytes(xid, proc, &items{}))
	}
	xid, granted := uint32(1), 1
	for _, asked := range []uint32{16, 16, 3, 16, 1, 16} {
		for range granted {
			call(xid, procEcho, asked)
			xid++
		}
		for range granted {
			h, _ := p.next()
			granted = int(h.Credits)
		}
	}
	for range granted {
		call(xid, procBlock, 16)
		wait(t, r.program.entered)
		xid++
	}
	// Everything granted is under way. The next call finds no receive, which ends the connection.
	wr := transport.WorkRequest{Op: transport.OpSend, Done: make(completer, 1), Local: []transport.Slice{{Bytes: header(xid, rpcrdma.TypeMsg).Append(nil)}}}
	if err := p.ep.Post(&wr); err != nil {
		t.Fatal(err)
	}
	wait(t, p.ep.Done())
	if err := p.ep.Err(); !errors.Is(err, transport.ErrNoReceive) {
		t.Errorf("ended with %v", err)
	}
}

// TestMemoryPressure: calls wait for memory. Grants shrink meanwhile, small calls and other
// connections continue, and every call is answered in the end.
func TestMemoryPressure(t *testing.T) {
	t.Run("rfc8166", func(t *testing.T) { testMemoryPressure(t, rpcrdma.RFC8166) })
	t.Run("draft", func(t *testing.T) { testMemoryPressure(t, rpcrdma.Draft) })
}

func testMemoryPressure(t *testing.T, dialect rpcrdma.Dialect) {
	const size = 64 << 10
	r := newRig(t, rpcrdma.Config{MaxMessage: size, ConnMemory: 3 * size, ServerMemory: 8 * size, Credits: 32, Dialect: dialect})
	p, other := r.raw(inline4k), r.raw(inline4k)
	block := func(p *rawPeer, xid uint32) {
		args := &items{data: [][]byte{pattern(uint64(xid), size-100)}}
		m := callMessage(xid, procBlock, args)
		h := header(xid, rpcrdma.TypeMsg)
		h.Reads = []chunks.ReadSegment{{Position: uint32(m.Bulk[0].Position), Segment: p.expose(args.data[0], transport.RemoteRead)}}
		h.SetReply([]chunks.Segment{p.expose(make([]byte, size), transport.RemoteWrite)})
		p.send(h, m.Inline)
	}
	grant := func(p *rawPeer, xid uint32) uint32 {
		p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procNull, nil))
		h, _ := p.next()
		if h.XID != xid {
			t.Fatalf("reply to %d, want %d", h.XID, xid)
		}
		return h.Credits
	}
	if got := grant(p, 1); got != 32 {
		t.Fatalf("granted %d at first", got)
	}
	conn := wait(t, r.program.conns)
	for xid := range uint32(5) { // each needs two thirds of the connection's memory
		block(p, 100+xid)
	}
	wait(t, r.program.entered)
	waitFor(t, func() bool { return conn.Stats().Waited == 4 })
	if got := grant(p, 2); got != 2 {
		t.Errorf("granted %d while 4 of 6 calls wait for memory, want 2", got)
	}
	// Another connection finds memory.
	grant(other, 1)
	block(other, 2)
	wait(t, r.program.entered)
	for range 6 {
		wait(t, func() chan struct{} {
			ch := make(chan struct{})
			go func() { r.program.gate <- struct{}{}; close(ch) }()
			return ch
		}())
	}
	for range 5 {
		if h, _ := p.next(); h.Type != rpcrdma.TypeNoMsg {
			t.Errorf("reply %v", h.Type)
		}
	}
	other.next()
	if got := grant(p, 3); got != 32 {
		t.Errorf("granted %d in the end", got)
	}
}

// TestMemoryGivenBack ends a connection whose calls wait for memory.
func TestMemoryGivenBack(t *testing.T) {
	const size = 64 << 10
	r := newRig(t, rpcrdma.Config{MaxMessage: size, ConnMemory: 2 * size, ServerMemory: 2 * size})
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := r.dial(rpcrdma.Config{})
			if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			errs := make(chan error, 5)
			for range cap(errs) {
				go func() {
					errs <- client(c).Do(context.Background(), &oncrpc.Request{Procedure: procBlock, Args: &items{data: [][]byte{make([]byte, 60_000)}}, MaxReply: 60_100})
				}()
			}
			wait(t, r.program.entered)
			waitFor(t, func() bool { return conn.Stats().Waited == 4 })
			c.Close()
			for range cap(errs) {
				if wait(t, errs) == nil {
					t.Error("answered")
				}
			}
			ended(t, conn)
			waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
			r.memoryBack()
		})
	}
}
