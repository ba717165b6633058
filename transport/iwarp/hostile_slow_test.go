package iwarp_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Peers that stop, trickle, or take nothing.

// TestStartupStops has peers that stop in the middle of their request, or never begin.
func TestStartupStops(t *testing.T) {
	request := requestFrame(0x10, 2, clientServer+"private data")
	for _, n := range []int{0, 1, 15, 16, 19, 20, 22, len(request) - 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newVirtualRig(t, false, hastyConfig())
			check := r.bystander()
			p := r.dialPeer()
			p.write(request[:n])
			check()
			p.wantEnd()
			check()
			r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
			r.log.want(t, 1, "connection setup failed", p.conn.LocalAddr().String())
		})
	}
}

// TestStartupTrickles has a peer that sends its request byte by byte, and never finishes.
func TestStartupTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newVirtualRig(t, false, hastyConfig())
		check := r.bystander()
		p := r.dialPeer()
		p.trickle(requestFrame(0x10, 2, clientServer+strings.Repeat("x", 508)))
		p.wantEnd()
		check()
		r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
		r.log.want(t, 1, "connection setup failed")
	})
}

// trickle sends bytes one by one until the other side ends the connection.
func (p *peer) trickle(b []byte) {
	p.t.Helper()
	for i := range b {
		if _, err := p.conn.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.t.Error("peer: all was taken")
}

// TestStops has peers that stop in the middle of an FPDU.
func TestStops(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   int // of 2 + 18 + 30 + 2 + 4 bytes
	}{
		{"length", 1},
		{"nothing but the length", 2},
		{"header", 10},
		{"nothing but the header", 20},
		{"payload", 40},
		{"padding", 51},
		{"CRC", 53},
		{"last byte", 55},
	} {
		for _, dialing := range []bool{false, true} {
			t.Run(describe(dialing, iwarp.CRCOff)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, dialing, hostileConfig())
				check := r.bystander()
				p, l := r.connect()
				l.receives(2)
				l.start()
				p.sendMessage("whole")
				l.wantMessage("whole")
				p.write(p.frame(segment(onQueue(rdmap.OpSend, 2), strings.Repeat("x", 30)))[:tt.at])
				check()
				if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
					t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
				}
				p.wantEnd()
				check()
				r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
				r.log.want(t, 1, "connection ended", p.conn.LocalAddr().String())
			})
		}
	}
}

// TestTrickles has a peer that sends a large FPDU byte by byte.
func TestTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newVirtualRig(t, false, hostileConfig())
		check := r.bystander()
		p, l := r.connect()
		l.start()
		p.trickle(p.frame(segment(onQueue(rdmap.OpSend, 1), strings.Repeat("x", 60000))))
		if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
			t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
		}
		p.wantEnd()
		check()
		r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
		r.log.want(t, 1, "connection ended")
	})
}

// TestNeverReads has peers that read nothing.
func TestNeverReads(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(p *peer, l *local) // until our side has large messages to send
		n    int                     // completions
	}{
		{"Write", func(_ *peer, l *local) {
			l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(make([]byte, huge)), Remote: transport.Remote{STag: 1}})
		}, 1},
		{"Send", func(_ *peer, l *local) {
			l.post(&transport.WorkRequest{Op: transport.OpSend, Local: slices(make([]byte, huge))})
		}, 1},
		{"many Sends", func(_ *peer, l *local) {
			data := slices(make([]byte, huge/64))
			for range 64 {
				l.post(&transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Local: data})
			}
		}, 64},
		{"Read Response", func(p *peer, l *local) {
			w := l.expose(transport.RemoteRead, make([]byte, huge))
			p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, huge)))
		}, 0},
		{"Read Responses and a Write", func(p *peer, l *local) {
			w := l.expose(transport.RemoteRead, make([]byte, huge))
			p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, huge)),
				segment(onQueue(rdmap.OpReadRequest, 2), readRequest(w.STag, w.Base, huge)))
			l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(make([]byte, huge)), Remote: transport.Remote{STag: 1}})
		}, 1},
	} {
		for _, dialing := range []bool{false, true} {
			t.Run(describe(dialing, iwarp.CRCOff)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, dialing, hostileConfig())
				check := r.bystander()
				p, l := r.connect()
				l.start()
				alive(p, l)
				tt.play(p, l)
				check()
				if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
					t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
				}
				failed := 0
				for range tt.n {
					if err := hang.Receive(t, "completion", l.completions); err != nil {
						failed++
						if !errors.Is(err, transport.ErrFlushed) || !errors.Is(err, mpa.ErrStalled) {
							t.Errorf("completed with %v, want %v and %v", err, transport.ErrFlushed, mpa.ErrStalled)
						}
					}
				}
				if tt.n > 0 && failed == 0 {
					t.Error("all requests succeeded")
				}
				p.wantEnd()
				check()
				r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
				r.log.want(t, 1, "connection ended", p.conn.LocalAddr().String())
			})
		}
	}
}

// pattern returns n bytes in which each position can be recognized.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
		if i == 1<<20 {
			for i++; i < n; i += copy(b[i:], b[:1<<20+1]) { // fast, and not aligned
			}
			break
		}
	}
	return b
}

// blocked waits until the network takes no more from l: a goroutine then waits for a full socket.
// No peer of these tests writes meanwhile.
func (l *local) blocked() {
	l.t.Helper()
	hang.Until(l.t, "a full network", func() bool {
		for _, stack := range goroutines() {
			if strings.Contains(stack, "[IO wait") && strings.Contains(stack, "waitWrite(") {
				return true
			}
		}
		return false
	})
}
