package rpcrdma_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestEndsWhilePinned ends connections, from either side, at each stage of replies that the client
// reads. All memory is given back.
func TestEndsWhilePinned(t *testing.T) {
	stages := []struct {
		name string
		do   func(t *testing.T, p *rawPeer, conn *rpcrdma.Conn, ep *slowSends)
	}{
		{"not sent", func(_ *testing.T, p *rawPeer, _ *rpcrdma.Conn, ep *slowSends) {
			ep.slow.Store(true)
			p.source(9, 2, 5001)
		}},
		{"sent", func(_ *testing.T, p *rawPeer, _ *rpcrdma.Conn, _ *slowSends) { p.source(9, 2, 5001) }},
		{"half read", func(_ *testing.T, p *rawPeer, _ *rpcrdma.Conn, _ *slowSends) {
			p.read(p.source(9, 2, 5001).Reads[0].Segment)
		}},
		{"acknowledged, and the Send not complete", func(t *testing.T, p *rawPeer, conn *rpcrdma.Conn, ep *slowSends) {
			ep.slow.Store(true)
			p.source(9, 2, 5001)
			p.done(9)
			waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
		}},
		{"withheld", func(t *testing.T, p *rawPeer, conn *rpcrdma.Conn, _ *slowSends) {
			for xid := range uint32(2) {
				p.source(xid, 1, 60_000)
			}
			for xid := range uint32(3) {
				p.send(header(xid+10, rpcrdma.TypeMsg), callBytes(xid+10, procSource, &source{1, 60_000}))
			}
			waitFor(t, func() bool { s := conn.Stats(); return s.Withheld == 1 && s.Waited == 2 })
		}},
	}
	for _, stage := range stages {
		for _, side := range []string{"client", "server", "shutdown"} {
			t.Run(stage.name+"/"+side, func(t *testing.T) {
				r, made := newSlowRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 262144})
				p := r.raw(inline4k)
				p.alive()
				ep, conn := wait(t, made), wait(t, r.program.conns)
				stage.do(t, p, conn, ep)
				r.notFreed()
				// A provider completes all requests before it reports the end of the connection.
				ep.slow.Store(false)
				for len(ep.held) > 0 {
					(<-ep.held)()
				}
				switch side {
				case "client":
					p.ep.Close()
				case "server":
					conn.Close()
				case "shutdown":
					r.server.Close()
				}
				ended(t, conn)
				waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
				n := len(r.program.freed)
				if want := map[bool]int{true: 3, false: 2}[stage.name == "withheld"]; n != want {
					t.Errorf("%d items released, want %d", n, want)
				}
				if side != "shutdown" {
					r.memoryBack()
				}
				r.allBack()
			})
		}
	}
}

// TestShutdownWaitsForDone: Shutdown waits for the RDMA_DONE of a reply, as for every call under
// way.
func TestShutdownWaitsForDone(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
	p := r.raw(inline4k)
	p.alive()
	h := p.source(9, 2, 5001)
	down := make(chan error, 1)
	go func() { down <- r.server.Shutdown(context.Background()) }()
	waitFor(t, r.server.Closed)
	for i := range h.Reads {
		if got := p.read(h.Reads[i].Segment); !bytes.Equal(got, pattern(uint64(i), 5001)) {
			t.Errorf("item %d differs", i)
		}
	}
	r.notFreed()
	p.done(9)
	if err := wait(t, down); err != nil {
		t.Error(err)
	}
	r.freed(2)
	r.allBack()
}

// TestReadsAfterFailed: replies name memory that does not exist, and reading it ends their
// connections. Later calls reuse the structures of those calls without harm.
func TestReadsAfterFailed(t *testing.T) {
	const size = 5001
	data := pattern(1, size)
	for _, fails := range []bool{true, false} {
		var calls []*started
		for range 32 { // their calls may be reused from the pool in the next round
			c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k)
			s := start(t.Context(), c, &items{}, nil)
			h, _ := p.next()
			r := header(h.XID, rpcrdma.TypeMsg)
			r.Reads = p.readSegments(36, data)
			if fails {
				r.Reads[0].Handle++
			}
			p.send(r, result(h.XID, size))
			calls = append(calls, s)
		}
		for _, s := range calls {
			if err := wait(t, s.err); (err != nil) != fails {
				t.Errorf("call: %v, want it to fail: %v", err, fails)
			} else if !fails && !bytes.Equal(s.reply.data[0], data) {
				t.Error("the reply differs")
			}
		}
	}
}
