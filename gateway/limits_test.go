package gateway

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestDialTimeoutDefault: an attempt to connect may take Config.DialTimeout, by default 10 s.
func TestDialTimeoutDefault(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 1: 1, time.Hour: time.Hour} {
		cfg, err := Config{Dial: nowhere, DialTimeout: set}.withDefaults()
		if err != nil || cfg.DialTimeout != want {
			t.Errorf("DialTimeout %v: got %v, %v, want %v", set, cfg.DialTimeout, err, want)
		}
	}
}

// TestCountLimit: a READ of more than MaxReply asks the server for MaxReply, and a smaller one is
// unchanged.
func TestCountLimit(t *testing.T) {
	const room = 64 << 10
	rec := &recorder{dial: overRDMA(t, nfsServer(t), rpcrdma.Config{})}
	g := start(t, Config{Dial: rec.Dial, MaxReply: room}, recordmark.Config{})
	data := pattern(2 * room)
	_, _, h := file(t, dialTCP(t, g.addr), data)
	s := dialRawClient(t, g.addr)
	for _, tt := range []struct {
		asked uint32
		got   int
	}{
		{room - 4, room - 4}, {room - 1, room - 1}, {room, room}, {room + 1, room}, {2 * room, room},
		{1<<32 - 1, room},
	} {
		s.send(message(nfsCall(1, nfs3.ProcRead, rootCred(t)), &nfs3.ReadArgs{File: h, Count: tt.asked}))
		got := s.next()
		at := 24 + 4 + 4 + 84 // behind the header, status and attributes
		if len(got) < at+12 {
			t.Fatalf("READ of %d: got reply %x", tt.asked, got)
		}
		if n := binary.BigEndian.Uint32(got[at:]); n != uint32(tt.got) {
			t.Errorf("READ of %d: the server counts %d, want %d", tt.asked, n, tt.got)
		}
		if got = got[at+12:]; len(got) < tt.got || !bytes.Equal(got[:tt.got], data[:tt.got]) {
			t.Errorf("READ of %d: got %d bytes, want the first %d of the file", tt.asked, len(got), tt.got)
		}
		_, calls := rec.last()
		if way := calls[len(calls)-1]; len(way.results) != 1 || way.results[0] != tt.got {
			t.Errorf("READ of %d: there was room for %v bytes, want %d", tt.asked, way.results, tt.got)
		}
	}
}

// TestIdleWorkers: a bounded number of idle workers is kept.
func TestIdleWorkers(t *testing.T) {
	const calls = maxIdle + 20
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{MaxInFlight: calls})
	s := dialRawClient(t, g.addr)
	for xid := range uint32(calls) {
		s.send(testCall(xid+1, 1))
	}
	stacks := make([]byte, 4<<20)
	running := func() int {
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "gateway.(*workers).serve(")
	}
	hang.Until(t, "all calls are passed on", func() bool { return running() == calls })
	close(gate.open)
	for range calls {
		if got := s.next(); len(got) != 28 {
			t.Fatalf("got reply %x", got)
		}
	}
	hang.Until(t, "as many goroutines wait as are kept",
		func() bool { return running() == maxIdle && int(g.workers.idle.Load()) == maxIdle })
}
