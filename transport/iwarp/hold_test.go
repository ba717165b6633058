package iwarp_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// rpcCall is a call of NFS's null procedure as Linux sends it over TCP.
var rpcCall = "\x80\x00\x00\x28" + "\x12\x34\x56\x78" + "\x00\x00\x00\x00" + "\x00\x00\x00\x02" + "\x00\x01\x86\xa3" + "\x00\x00\x00\x03" +
	strings.Repeat("\x00", 20)

// holding gives r a listener that keeps repeating peers waiting for that long.
func (r *rig) holding(d time.Duration) {
	r.t.Helper()
	r.listener.Close()
	l, err := iwarp.ListenHolding(listenTCP(r.t), r.cfg, d)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { l.Close() })
	r.listener = l
}

// sends connects a peer that begins with these bytes.
func (r *rig) sends(bytes string) *peer {
	r.t.Helper()
	p := dialPeer(r.t, r.listener.Addr().String())
	p.conn.Write([]byte(bytes))
	return p
}

// TestHeld has a peer that connects again and again with RPC over TCP. It is kept waiting, within
// limits. Others are not.
func TestHeld(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	r.holding(time.Hour)
	check := r.bystander()
	r.sends(rpcCall).wantEnd()
	r.log.want(t, 1, "connection setup failed", "it speaks RPC over TCP (wrong port?)")
	for range 2 {
		r.sends(string(requestFrame(0x10, 3, clientServer))).wantEnd() // speaks MPA
	}

	// One has no place: the last one that the listener sees.
	const maxHeld = 64
	over := make(chan struct{}, maxHeld+1)
	for range maxHeld + 1 {
		p := r.sends(rpcCall)
		go func() {
			p.wantEnd()
			over <- struct{}{}
		}()
	}
	hang.Receive(t, "the end of one", over)
	check()
	r.bystander()
	hang.Until(t, "all are heard", func() bool {
		return r.cfg.Counters.Stats().HandshakeFailures == maxHeld+4
	})
	select {
	case <-over:
		t.Error("another has been let go")
	case <-time.After(20 * time.Millisecond): // long enough to fail sometimes if the code is wrong
	}
	r.log.want(t, 2, "connection setup failed")
	r.wantCounters(map[string]int{"Connections": 2, "HandshakeFailures": maxHeld + 4})

	r.listener.Close()
	for range maxHeld {
		hang.Receive(t, "the end of the others", over)
	}
	check()
}

// TestHeldForATime checks that such peers are let go.
func TestHeldForATime(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	r.holding(time.Millisecond)
	for range 5 {
		r.sends(rpcCall).wantEnd()
	}
	r.log.want(t, 1, "connection setup failed")
	r.wantCounters(map[string]int{"HandshakeFailures": 5})
}

// TestHoldTime checks for how long.
func TestHoldTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newVirtualRig(t, false, hostileConfig())
		for i, want := range []time.Duration{0, time.Second, time.Second} {
			p := r.dialPeer()
			begin := time.Now()
			p.conn.Write([]byte(rpcCall))
			p.wantEnd()
			if got := time.Since(begin); got != want {
				t.Errorf("connection %d is kept for %v, want %v", i, got, want)
			}
		}
	})
}

// TestRejectedAgain has requests that are rejected, each at once and with the same reply. The log
// says so once.
func TestRejectedAgain(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, ORD: 8, RequiredORD: 4})
	r.holding(time.Hour)
	for range 3 {
		p := r.sends(string(requestFrame(0x10, 2, "\x00\x03\x00\x02")))
		if _, err := r.request().Accept(t.Context(), nil); !errors.Is(err, mpa.ErrInsufficientIRD) {
			t.Errorf("Accept: got error %v, want %v", err, mpa.ErrInsufficientIRD)
		}
		p.wantStartup(replyFrame(0x30, 2, "\x00\x10\x00\x04"))
		p.wantFIN()
		p.conn.Close()
	}
	r.log.want(t, 1, "connection refused")
	r.wantCounters(map[string]int{"Rejected": 3})
}
