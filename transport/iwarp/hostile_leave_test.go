package iwarp_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Peers that leave must leave nothing behind.

// TestLeaves has peers that leave at every stage, by closing their half in order or by a reset.
func TestLeaves(t *testing.T) {
	for _, stage := range stages {
		for _, how := range []struct {
			name  string
			leave func(p *peer)
		}{
			{"half-close", func(p *peer) { p.conn.CloseWrite() }},
			{"close", func(p *peer) { p.conn.Close() }},
			{"reset", func(p *peer) { p.reset() }},
		} {
			for _, dialing := range []bool{false, true} {
				t.Run(describe(dialing, iwarp.CRCOff)+", "+stage.name+", "+how.name, func(t *testing.T) {
					cfg := hostileConfig()
					cfg.StallTimeout = patience
					r := newRig(t, dialing, cfg)
					check := r.bystander()
					p, l := r.connect()
					l.receives(1)
					l.start()
					stage.play(p, l)
					how.leave(p)
					if err := l.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
						t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
					}
					if how.name == "half-close" {
						p.wantEnd()
					}
					check()
					r.wantCounters(map[string]int{"Connections": 2})
					r.log.want(t, 0)
				})
			}
		}
	}
}

// TestLeavesStartup has peers that leave during the startup, or before they are accepted.
func TestLeavesStartup(t *testing.T) {
	request := requestFrame(0x10, 2, clientServer)
	for _, n := range []int{0, 10, 22} {
		for name, leave := range map[string]func(*peer){
			"half-close": func(p *peer) { p.conn.CloseWrite() },
			"close":      func(p *peer) { p.conn.Close() },
			"reset":      func(p *peer) { p.reset() },
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, false, hostileConfig())
				check := r.bystander()
				p := dialPeer(t, r.listener.Addr().String())
				p.write(request[:n])
				leave(p)
				hang.Until(t, "failure", func() bool {
					return r.cfg.Counters.Stats().HandshakeFailures == 1
				})
				check()
				r.listener.Close()
				if n == 0 && name != "reset" {
					r.log.want(t, 0) // like a port scan
					return
				}
				r.log.want(t, 1, "connection setup failed")
			})
		}
	}
	t.Run("before Accept", func(t *testing.T) {
		r := newRig(t, false, hostileConfig())
		p := dialPeer(t, r.listener.Addr().String())
		p.write(request)
		req := r.request()
		p.reset()
		// TCP decides whether the reply fails, or the message after it.
		ep, err := req.Accept(t.Context(), nil)
		if err == nil {
			err = newLocal(t, ep).start().ended()
		}
		if err == nil {
			t.Error("got no error")
		}
		r.bystander()
	})
}

// TestMemory has many peers that announce the largest FPDU and stop. Little more memory is held
// than they have sent.
func TestMemory(t *testing.T) {
	const (
		peers = 250
		bound = 40 << 20 // includes a fixed part for kept buffers
	)
	cfg := hostileConfig()
	cfg.StallTimeout = patience
	r := newRig(t, false, cfg)
	check := r.bystander()
	before := heap()
	var ends []*local
	for range peers {
		p, l := r.connect()
		ends = append(ends, l)
		l.receives(1)
		l.start()
		p.sends++
		message := p.frame(segment(onQueue(rdmap.OpSend, 1), "first"))
		p.write(append(message, append([]byte{0xff, 0xff}, make([]byte, 1000)...)...))
		l.wantMessage("first") // everything after it has been read too
	}
	if grown := heap() - before; grown > bound {
		t.Errorf("%d peers hold %d bytes, want at most %d", peers, grown, bound)
	}
	check()
	for _, l := range ends {
		l.Close()
		l.ended()
	}
}

// heap returns the size of the heap after garbage collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestChurn has peers that come, break the protocol and go. Nothing of them stays.
func TestChurn(t *testing.T) {
	const peers, bound = 300, 16 << 20
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	before := heap()
	for i := range peers {
		p, l := r.connect()
		l.receives(100)
		l.expose(transport.RemoteRead, make([]byte, 1<<10))
		l.start()
		switch i % 3 {
		case 0:
			p.send(segment(toSTag(rdmap.OpWrite, 1, 0), "x"))
			p.wantEnd()
		case 1:
			p.write([]byte{0, 0})
			p.wantEnd()
		default:
			p.reset()
		}
		l.ended()
		p.conn.Close()
	}
	if grown := heap() - before; grown > bound {
		t.Errorf("%d bytes are left of %d peers, want at most %d", grown, peers, bound)
	}
	check()
}

// goroutines returns the stacks of all goroutines by their ids, which are never reused.
func goroutines() map[string]string {
	b := make([]byte, 1<<20)
	for {
		n := runtime.Stack(b, true)
		if n < len(b) {
			b = b[:n]
			break
		}
		b = make([]byte, 2*len(b))
	}
	all := make(map[string]string)
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		all[number] = stack
	}
	return all
}

// newGoroutines returns a function that counts the goroutines started since.
func newGoroutines() (count func() int) {
	old := goroutines()
	return func() (n int) {
		for number := range goroutines() {
			if _, ok := old[number]; !ok {
				n++
			}
		}
		return n
	}
}

// TestScanHidesNothing: after a host has reset a connection, other faults of its connections are
// still logged.
func TestScanHidesNothing(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	failures := func(want uint64) {
		t.Helper()
		hang.Until(t, "failure", func() bool {
			return r.cfg.Counters.Stats().HandshakeFailures == want
		})
	}
	begin := func() *peer {
		t.Helper()
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x10, 2, clientServer)[:10])
		return p
	}
	for range 2 {
		begin().reset()
	}
	failures(2)
	begin().conn.CloseWrite()
	failures(3)
	r.listener.Close()
	r.log.want(t, 2, "connection setup failed")
}
