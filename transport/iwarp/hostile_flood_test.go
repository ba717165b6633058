package iwarp_test

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Peers that send or ask for as much as they can.

// TestFlood connects more peers than may wait: the oldest silent ones make room.
func TestFlood(t *testing.T) {
	const more = 40
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	var peers []*peer
	for range maxPending + more {
		peers = append(peers, dialPeer(t, r.listener.Addr().String()))
	}
	hang.Until(t, "drops", func() bool { return r.cfg.Counters.Stats().Dropped == more })
	check()
	for _, p := range peers[:more] {
		p.wantEnd()
	}
	// The others still have their places: each can send a request and is answered.
	for i, p := range peers[more:] {
		p.write(requestFrame(0x10, 2, clientServer))
		req := r.request()
		if err := req.Reject(nil); err != nil {
			t.Fatalf("peer %d: %v", i, err)
		}
		p.readStartup()
		p.conn.Close()
	}
	r.wantCounters(map[string]int{"Connections": 1, "Dropped": more, "Rejected": maxPending})
	r.log.want(t, 0)
	check()
}

// TestFloodOfHost connects more peers from one host than may wait, after a silent one from another
// host, which keeps its place.
func TestFloodOfHost(t *testing.T) {
	const more = 40
	r := newRig(t, false, hostileConfig())
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.DialContext(t.Context(), "tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	slow := newPeer(t, conn)
	var flood []*peer
	for range maxPending - 1 + more {
		flood = append(flood, dialPeer(t, r.listener.Addr().String()))
	}
	hang.Until(t, "drops", func() bool { return r.cfg.Counters.Stats().Dropped == more })
	for _, p := range flood[:more] {
		p.wantEnd()
	}
	slow.write(requestFrame(0x10, 2, clientServer))
	if err := r.request().Reject(nil); err != nil {
		t.Fatal(err)
	}
	slow.readStartup()
	r.wantCounters(map[string]int{"Dropped": more, "Rejected": 1})
}

// TestFloodOfRequests has more requests than may wait for Accept. Those that came first keep their
// places.
func TestFloodOfRequests(t *testing.T) {
	const maxPending = 10
	cfg := hostileConfig()
	cfg.MaxPending = maxPending
	r := newRig(t, false, cfg)
	check := r.bystander()
	startups := newGoroutines() // the listener has one for each connection
	var peers []*peer
	for range maxPending {
		peers = append(peers, dialPeer(t, r.listener.Addr().String()))
	}
	hang.Until(t, "connections", func() bool { return startups() == maxPending })
	for _, p := range peers {
		p.write(requestFrame(0x10, 2, clientServer))
	}
	hang.Until(t, "requests", func() bool { return startups() == 0 })
	p := dialPeer(t, r.listener.Addr().String())
	p.wantEnd()
	check()
	r.wantCounters(map[string]int{"Connections": 1, "Dropped": 1})
	for range maxPending {
		req := r.request()
		req.Reject(nil)
	}
	r.bystander()
}

// TestReadFlood has a peer that sends more RDMA Reads than the IRD allows, and reads no response
// before its Terminate.
func TestReadFlood(t *testing.T) {
	for _, dialing := range []bool{false, true} {
		t.Run(describe(dialing, iwarp.CRCOn), func(t *testing.T) {
			cfg := hostileConfig()
			cfg.CRC, cfg.StallTimeout = iwarp.CRCOn, patience
			r := newRig(t, dialing, cfg)
			check := r.bystander()
			p, l := r.connect()
			l.start()
			memory := pattern(huge)
			w := l.expose(transport.RemoteRead, memory)
			request := func(msn uint32) []byte {
				return segment(onQueue(rdmap.OpReadRequest, msn), readRequest(w.STag, w.Base, huge))
			}
			p.send(request(1))
			p.send(request(2))
			l.blocked()
			p.send(request(3))
			wantTerminated(t, l.ended(), rdmap.UntaggedNoBuffer, false, nil)
			check()
			n, next := p.readTagged(rdmap.OpReadResponse, 0x1000, memory)
			if n == 0 || n >= huge {
				t.Errorf("read %d bytes of the response, want some", n)
			}
			want := terminateSegment(terminateBytes(rdmap.UntaggedNoBuffer, request(3), true, true))
			if diff := cmp.Diff(want, next); diff != "" {
				t.Errorf("Terminate (-want +got):\n%s", diff)
			}
			p.wantFIN()
			r.wantCounters(map[string]int{"Connections": 2, "TerminatesSent": 1})
			r.log.want(t, 1, "connection terminated")
		})
	}
}

// TestPipelined has FPDUs that come right after the request. They are not lost.
func TestPipelined(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	p := dialPeer(t, r.listener.Addr().String())
	p.write(append(requestFrame(0x10, 2, clientServer), p.frame(segment(onQueue(rdmap.OpSend, 1), "early"))...))
	req := r.request()
	ep, err := req.Accept(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, ep)
	l.receives(1)
	l.start()
	p.readStartup()
	l.wantMessage("early")
	p.sends = 1
	alive(p, l)
}
