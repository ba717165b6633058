package gateway

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// When the client goes, so does its connection to the server, in the middle of a call.
func TestClientGoes(t *testing.T) {
	gate := newGate()
	var conns [2]oncrpc.Transport
	dial := overRDMA(t, gateServer(gate), rpcrdma.Config{})
	n := 0
	g := start(t, Config{Dial: func(ctx context.Context) (conn oncrpc.Transport, err error) {
		conns[n], err = dial(ctx)
		n++
		return conns[n-1], err
	}}, recordmark.Config{})
	leaves, stays := dialRawClient(t, g.addr), dialRawClient(t, g.addr)
	for i, s := range []rawClient{leaves, stays} {
		s.send(testCall(uint32(i+1), 1))
		gate.next(t)
	}
	leaves.Close()
	hang.Receive(t, "the end of the first connection to the server", conns[0].Done())
	close(gate.open)
	if got := stays.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 2}) {
		t.Errorf("got reply %x, want that to 2", got)
	}
	stays.Close()
	hang.Receive(t, "the end of the second connection to the server", conns[1].Done())
}

// When the server goes, so do its clients, which connect again.
func TestServerGoes(t *testing.T) {
	gate := newGate()
	rec := &recorder{dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})}
	g := start(t, Config{Dial: rec.Dial}, recordmark.Config{})
	for range 2 {
		s := dialRawClient(t, g.addr)
		s.send(testCall(1, 1))
		gate.next(t)
		conn, _ := rec.last()
		conn.Close()
		if got := s.next(); got != nil {
			t.Errorf("got reply %x", got)
		}
	}
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 0))
	if got := s.next(); len(got) != 24 {
		t.Errorf("got reply %x", got)
	}
	if got := g.Stats(); got.Dials != 3 || got.Replies != 1 {
		t.Errorf("stats %+v", got)
	}
}

// TestShutdown: Shutdown lets calls finish, and Close ends the rest.
func TestShutdown(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	down := make(chan error)
	go func() { down <- g.server.Shutdown(context.Background()) }()
	hang.Until(t, "Shutdown has begun", g.server.Closed)
	if got := g.server.Stats(); got.InFlight != 1 || got.Forwarded != 1 {
		t.Errorf("stats %+v", got)
	}
	close(gate.open)
	if got := s.next(); len(got) != 28 {
		t.Errorf("got reply %x", got)
	}
	if got := s.next(); got != nil {
		t.Errorf("got another reply %x", got)
	}
	s.Close()
	if err := hang.Receive(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
	g.Close()
	if got := g.Stats(); got.Replies != 1 || got.Clients != 0 {
		t.Errorf("stats %+v", got)
	}
}

// Close ends calls under way.
func TestClose(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	g.Close()
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	if got := g.Stats(); got.Dropped != 1 {
		t.Errorf("stats %+v", got)
	}
	// One that comes too late is dropped.
	late := dialRawClient(t, g.addr)
	late.send(testCall(1, 1))
	g.server.Close()
	if got := late.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
}

// TestGoesInTheMiddle: clients that disconnect in the middle of READs and WRITEs leave nothing
// behind and do not affect others.
func TestGoesInTheMiddle(t *testing.T) {
	g := start(t, Config{Dial: overRDMA(t, nfsServer(t), rpcrdma.Config{}), Memory: 64 << 20, ConnMemory: 4 << 20}, recordmark.Config{})
	data := pattern(1 << 20)
	c, _, h := file(t, dialTCP(t, g.addr), data)
	sys := rootCred(t)
	read := &nfs3.ReadArgs{File: h, Count: uint32(len(data))}
	write := &nfs3.WriteArgs{File: h, Count: uint32(len(data)), Data: [][]byte{data}}
	for i := range 30 {
		s := dialRawClient(t, g.addr)
		for xid := range uint32(8) {
			s.send(message(nfsCall(xid, nfs3.ProcRead, sys), read))
		}
		s.send(message(nfsCall(8, nfs3.ProcWrite, sys), write))
		for range i % 4 { // at various times
			if s.next() == nil {
				t.Error("a connection has ended")
			}
		}
		s.Close()
	}
	got := make([]byte, len(data))
	if r, err := c.Read(limited(t), h, 0, got); err != nil || r.N != len(data) || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", r.N, err)
	}
	g.returned(t, 64<<20)
}

// A client that goes while its calls wait for memory is not waited for.
func TestGoesWaiting(t *testing.T) {
	gate := newGate()
	const most = 128 << 10 // for one call
	g := start(t, Config{
		Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{}), MaxReply: 64 << 10, ConnMemory: most, Memory: most,
	}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	waits := dialRawClient(t, g.addr)
	waits.send(testCall(2, 1))
	hang.Until(t, "a call waits for memory", func() bool { return g.Stats().Waited > 0 })
	waits.Close()
	hang.Until(t, "the call that waits is dropped", func() bool { return g.Stats().Dropped > 0 })
	close(gate.open)
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 1}) {
		t.Errorf("got reply %x, want that to 1", got)
	}
}
