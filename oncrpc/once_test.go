package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// counter is a handler that must run once for each call. It returns how often it has run.
type counter struct{ atomic.Uint32 }

func (n *counter) handle(_ context.Context, c *oncrpc.Call) error {
	c.Results.Uint32(n.Add(1))
	return nil
}

// callFrom returns a call of a peer at the named address, over a connection of its own. A name that
// begins with "tcp " is a TCP address.
func callFrom(t testing.TB, peer string, call []byte) *incoming {
	in := newIncoming(t, call)
	far, near := connection(t)
	far.name = addr(peer)
	if p, ok := strings.CutPrefix(peer, "tcp "); ok {
		far.name = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p))
	}
	in.conn = near
	return in
}

// dispatchIn passes a call to the server, over a new connection of its peer.
func dispatchIn(s *oncrpc.Server, in *incoming) {
	oncrpc.DispatcherOf(s).For(in.conn.RemoteAddr()).Dispatch(in)
}

// dispatchFrom passes a call of a peer to the server and returns the reply.
func dispatchFrom(t testing.TB, s *oncrpc.Server, peer string, call []byte) []byte {
	in := callFrom(t, peer, call)
	dispatchIn(s, in)
	return <-in.reply
}

const (
	peerA = "192.0.2.1:700"
	peerB = "192.0.2.1:701" // the same host
	peerC = "192.0.2.2:700"
)

// Which calls are copies and which are not.
func TestOnce(t *testing.T) {
	header := func(change func(*oncrpc.CallHeader)) []byte {
		h := oncrpc.CallHeader{XID: 7, RPCVersion: 2, Program: testProgram, Version: testVersion, Procedure: 1,
			Cred: mustSys(oncrpc.SysCred{Machine: "m", UID: 1})}
		change(&h)
		return append(encodeHeader(&h), 0, 0, 0, 1)
	}
	first := header(func(*oncrpc.CallHeader) {})
	tests := []struct {
		name        string
		peer, peer2 string
		call        []byte
		same        bool
	}{
		{"again", peerA, peerA, first, true},
		{"from another port", peerA, peerB, first, true},
		{"over TCP", "tcp " + peerA, "tcp " + peerA, first, true},
		{"over TCP, from another port", "tcp " + peerA, "tcp " + peerB, first, false},
		{"from another host", peerA, peerC, first, false},
		{"IPv6, from another port", "[2001:db8::1]:1", "[2001:db8::1]:2", first, true},
		{"IPv6, from another host", "[2001:db8::1]:1", "[2001:db8::2]:1", first, false},
		{"IPv4 in IPv6", peerA, "[::ffff:192.0.2.1]:9", first, true},
		{"without IP", "pipe 1", "pipe 1", first, true},
		{"from elsewhere without IP", "pipe 1", "pipe 2", first, false},
		{"transaction id", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.XID++ }), false},
		{"program", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Program++ }), false},
		{"version", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Version++ }), false},
		{"procedure", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Procedure++ }), false},
		{"stamp", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = mustSys(oncrpc.SysCred{Stamp: 9, Machine: "m", UID: 1}) }), true},
		{"user", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = mustSys(oncrpc.SysCred{Machine: "m", UID: 2}) }), false},
		{"flavour", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = oncrpc.Auth{} }), false},
		// the verifier belongs to a transmission
		{"verifier", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Verf.Flavor = oncrpc.FlavorGSS }), true},
		{"arguments", peerA, peerB, append(bytes.Clone(first[:len(first)-1]), 2), false},
		{"more arguments", peerA, peerB, append(bytes.Clone(first), 0, 0, 0, 0), false},
	}
	for _, tt := range tests {
		for _, nonBlocking := range []bool{true, false} {
			var n counter
			p := oncrpc.Procedure{Handler: n.handle, NonBlocking: nonBlocking, Once: true}
			s := newServer(t, oncrpc.ServerConfig{}, p, p)
			for _, of := range [][2]uint32{{testProgram, testVersion + 1}, {testProgram + 1, testVersion}} {
				s.Handle(oncrpc.Program{Number: of[0], Version: of[1], Procedures: []oncrpc.Procedure{{}, p}})
			}
			want := dispatchFrom(t, s, tt.peer, first)
			got := dispatchFrom(t, s, tt.peer2, tt.call)
			if same := bytes.Equal(got, want); same != tt.same {
				t.Errorf("%s: got %x, the first call %x", tt.name, got, want)
			}
			wantStats := oncrpc.ServerStats{Calls: 2}
			wantCount := uint32(2)
			if tt.same {
				wantStats.Replayed, wantCount = 1, 1
			}
			if got := s.Stats(); got != wantStats || n.Load() != wantCount {
				t.Errorf("%s: stats %+v, %d executions; want %+v, %d", tt.name, got, n.Load(), wantStats, wantCount)
			}
		}
	}
}

// A call answered from the cache is answered before Dispatch returns. Procedures not marked Once,
// and all procedures without a cache, are executed for every copy.
func TestNotOnce(t *testing.T) {
	tests := []struct {
		name  string
		cache int64
		once  bool
		want  uint32
	}{
		{"kept", 0, true, 1},
		{"not asked for", 0, false, 3},
		{"no cache", -1, true, 3},
	}
	for _, tt := range tests {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{ReplyMemory: tt.cache}, oncrpc.Procedure{Handler: n.handle, Once: tt.once})
		for i := range 3 {
			in := callFrom(t, peerA, callBytes(1, 1))
			dispatchIn(s, in)
			if i > 0 && tt.want == 1 && in.answers.Load() != 1 {
				t.Errorf("%s: not answered at once", tt.name)
			}
			<-in.reply
		}
		if got := n.Load(); got != tt.want {
			t.Errorf("%s: %d executions, want %d", tt.name, got, tt.want)
		}
		kept, limit := s.ReplyMemory()
		if kept > 0 != (tt.want == 1) || limit > 0 != (tt.cache >= 0) || kept > limit {
			t.Errorf("%s: %d bytes of %d are in use", tt.name, kept, limit)
		}
	}
}

// Copies that arrive while a call is executed all get the reply, because each may be on a live
// connection that counts its credits. So does a later copy.
func TestOnceUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1}, oncrpc.Procedure{Handler: g.handle, Once: true})
		call := callBytes(0x01020304, 1, 5)
		var ins []*incoming
		for _, peer := range []string{peerA, peerB, peerA, peerB} {
			in := callFrom(t, peer, call)
			dispatchIn(s, in)
			ins = append(ins, in)
		}
		synctest.Wait()
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 4, InFlight: 4}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		close(g.open)
		want := unhex(t, accepted+"00000000 00000005")
		for _, in := range ins {
			if got := <-in.reply; !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		}
		if got := dispatchFrom(t, s, peerA, call); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		synctest.Wait()
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 5, Replayed: 4}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if got := g.order(); len(got) != 1 {
			t.Errorf("%d executions, want 1", len(got))
		}
	})
}

// A chunk before other arguments hides them, so copies cannot be recognized.
func TestOnceChunkBetween(t *testing.T) {
	var n counter
	handle := func(ctx context.Context, c *oncrpc.Call) error {
		c.Args.Bulk(100)
		c.Args.Uint32()
		return n.handle(ctx, c)
	}
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: handle, Once: true})
	for want := range uint32(2) {
		in := callFrom(t, peerA, nil)
		call := callBytes(1, 1, 4, 1)
		in.args.Reset(call, []xdr.Chunk{{Position: len(call) - 4, Len: 4, Data: []byte("path")}})
		dispatchIn(s, in)
		if got := binary.BigEndian.Uint32((<-in.reply)[24:]); got != want+1 {
			t.Errorf("got %d, want %d", got, want+1)
		}
	}
}
