package iwarp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestDialGivesUp cancels a Dial at each stage at which it waits for the peer.
func TestDialGivesUp(t *testing.T) {
	type stage struct {
		name string
		play func(p *peer) // brings Dial there
	}
	stages := []stage{
		{"request not read", func(*peer) {}},
		{"no reply", func(p *peer) { p.readStartup() }},
		{"half a reply", func(p *peer) { p.readStartup(); p.write(replyFrame(0x10, 2, clientServer)[:19]) }},
		{"half the private data", func(p *peer) { p.readStartup(); p.write(replyFrame(0x10, 2, clientServer)[:22]) }},
	}
	for _, s := range stages {
		t.Run("cancelled, "+s.name, func(t *testing.T) {
			r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
			ctx, cancel := context.WithCancel(t.Context())
			dial := r.dial(ctx)
			p := acceptPeer(t, r.peers)
			s.play(p)
			cancel()
			d := hang.Receive(t, "Dial", dial)
			if !errors.Is(d.err, context.Canceled) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, context.Canceled)
			}
			r.wantNoDial()
		})
		t.Run("timeout, "+s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := iwarp.Config{CRC: iwarp.CRCOff, HandshakeTimeout: shortStartup}
				r := newVirtualRig(t, true, cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				s.play(p)
				d := hang.Receive(t, "Dial", dial)
				if !isTimeout(d.err) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want a timeout", d.ep, d.err)
				}
				r.wantCounters(map[string]int{"HandshakeFailures": 1})
				r.wantNoDial()
			})
		})
		t.Run("deadline, "+s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newVirtualRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
				ctx, cancel := context.WithTimeout(t.Context(), shortStartup)
				defer cancel()
				dial := r.dial(ctx)
				p := acceptPeer(t, r.peers)
				s.play(p)
				d := hang.Receive(t, "Dial", dial)
				if !errors.Is(d.err, context.DeadlineExceeded) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, context.DeadlineExceeded)
				}
				r.wantNoDial()
			})
		})
	}
	t.Run("cancelled before", func(t *testing.T) {
		r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d := hang.Receive(t, "Dial", r.dial(ctx)); !errors.Is(d.err, context.Canceled) {
			t.Errorf("Dial: got error %v, want %v", d.err, context.Canceled)
		}
		r.wantNoDial()
	})
	// The context bounds the setup of the connection only, and does not end it later.
	t.Run("cancelled afterwards", func(t *testing.T) {
		r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
		ctx, cancel := context.WithCancel(t.Context())
		dial := r.dial(ctx)
		p := acceptPeer(t, r.peers)
		p.readStartup()
		p.write(replyFrame(0x10, 2, clientServer))
		d := hang.Receive(t, "Dial", dial)
		cancel()
		if d.err != nil {
			t.Fatal(d.err)
		}
		alive(p, newLocal(t, d.ep).start())
	})
}

// TestAcceptGivesUp cancels Accept.
func TestAcceptGivesUp(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.listener.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept: got error %v, want %v", err, context.Canceled)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.listener.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Accept: got error %v, want %v", err, context.DeadlineExceeded)
	}
	p := dialPeer(t, r.listener.Addr().String())
	p.write(requestFrame(0x10, 2, clientServer))
	req := r.request()
	if _, err := req.Accept(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Request.Accept: got error %v, want %v", err, context.DeadlineExceeded)
	}
	p.wantFIN()
	p, l := r.connect()
	alive(p, l.start())
}
