package iwarp_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestFallback has a peer that closes on an enhanced request (RFC 6581 section 10).
func TestFallback(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*iwarp.Config)
		again  bool
	}{
		{"automatic", func(*iwarp.Config) {}, true},
		{"enhanced required", func(c *iwarp.Config) { c.Enhanced = mpa.EnhancedRequired }, false},
		{"peer-to-peer", func(c *iwarp.Config) { c.PeerToPeer = true }, false},
		{"manual reads", func(c *iwarp.Config) { c.ManualReads = true }, false},
		{"RDMAC", func(c *iwarp.Config) { c.RNIC = mpa.RDMAC }, false},
	} {
		for _, how := range []struct {
			name string
			end  func(p *peer)
		}{
			{"closed", func(p *peer) { p.conn.Close() }},
			{"reset", func(p *peer) { p.reset() }},
		} {
			t.Run(tt.name+", "+how.name, func(t *testing.T) {
				cfg := iwarp.Config{CRC: iwarp.CRCOff, Logger: quiet}
				tt.change(&cfg)
				r := newRig(t, true, cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				enhanced := cfg.RNIC != mpa.RDMAC
				if got := p.readStartup(); (got[16] == 0x10 && got[17] == 2) != enhanced {
					t.Errorf("request with bits %#02x of revision %d; enhanced is to be %t", got[16], got[17], enhanced)
				}
				how.end(p)
				if !tt.again {
					d := hang.Receive(t, "Dial", dial)
					if errors.Is(d.err, mpa.ErrUnenhanced) != enhanced || d.err == nil || d.ep != nil {
						t.Errorf("Dial: got %v, %v; that it is %q is to be %t", d.ep, d.err, mpa.ErrUnenhanced, enhanced)
					}
					r.wantCounters(map[string]int{"HandshakeFailures": 1})
					r.wantNoDial()
					return
				}
				p = acceptPeer(t, r.peers)
				p.wantStartup(requestFrame(0, 1, ""))
				p.write(replyFrame(0, 1, "hello"))
				d := hang.Receive(t, "Dial", dial)
				if d.err != nil {
					t.Fatal(d.err)
				}
				want := mpa.Setup{
					Setup:    ddp.Setup{Version: 1, Initiator: true, IRD: iwarp.DefaultReads, ORD: mpa.UnenhancedORD, PrivateData: []byte("hello")},
					Revision: 1, PeerIRD: -1, PeerORD: -1,
				}
				got, ok := iwarp.SetupOf(d.ep)
				if diff := cmp.Diff(want, got); diff != "" || !ok {
					t.Errorf("setup (-want +got):\n%s", diff)
				}
				alive(p, newLocal(t, d.ep).start())
				r.wantNoDial()
			})
		}
	}
}

// TestFallbackOnce has a peer that closes on the second request, too.
func TestFallbackOnce(t *testing.T) {
	r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
	dial := r.dial(t.Context())
	for range 2 {
		p := acceptPeer(t, r.peers)
		p.readStartup()
		p.conn.Close()
	}
	if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, io.EOF) || errors.Is(d.err, mpa.ErrUnenhanced) {
		t.Errorf("Dial: got error %v, want one that wraps %v, of the unenhanced request", d.err, io.EOF)
	} else if !strings.Contains(d.err.Error(), mpa.ErrUnenhanced.Error()) {
		t.Errorf("Dial: got error %v, want it to tell of the first request, too", d.err)
	}
	r.wantNoDial()
}

// wantNoDial checks that no connection waits to be accepted, after Dial has returned.
func (r *rig) wantNoDial() {
	r.t.Helper()
	if r.network != nil {
		time.AfterFunc(time.Second, func() { r.peers.Close() })
	} else {
		r.peers.(*net.TCPListener).SetDeadline(time.Now().Add(time.Millisecond))
	}
	if c, err := r.peers.Accept(); err == nil {
		c.Close()
		r.t.Error("there was another dial")
	}
}

// TestRejected has a peer that refuses, and says why.
func TestRejected(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   iwarp.Config
		reply []byte
		want  mpa.RejectError
	}{
		{"enhanced", iwarp.Config{}, replyFrame(0x30, 2, "\x00\x08\x00\x20go away"),
			mpa.RejectError{PrivateData: []byte("go away"), Enhanced: true, PeerIRD: 8, PeerORD: 32}},
		{"unenhanced", iwarp.Config{Enhanced: mpa.EnhancedNever}, replyFrame(0x20, 1, "go away"),
			mpa.RejectError{PrivateData: []byte("go away"), PeerIRD: -1, PeerORD: -1}},
		{"without a word", iwarp.Config{Enhanced: mpa.EnhancedNever}, replyFrame(0x20, 1, ""), mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = iwarp.CRCOff
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.readStartup()
			p.write(tt.reply)
			d := hang.Receive(t, "Dial", dial)
			var (
				got     *mpa.RejectError
				general *transport.RejectError
				op      *transport.OpError
			)
			if !errors.As(d.err, &got) || !errors.As(d.err, &general) || !errors.As(d.err, &op) || d.ep != nil {
				t.Fatalf("Dial: got %v, %v, want a RejectError of both packages in an OpError", d.ep, d.err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("*mpa.RejectError (-want +got):\n%s", diff)
			}
			if !bytes.Equal(general.PrivateData, tt.want.PrivateData) {
				t.Errorf("*transport.RejectError with %q, want %q", general.PrivateData, tt.want.PrivateData)
			}
			r.wantCounters(map[string]int{"Rejected": 1})
			r.wantNoDial()
		})
	}
}

// TestTerminatedReplies has replies that accept, but that our dialer refuses with a Terminate (RFC
// 6581 sections 8 and 9).
func TestTerminatedReplies(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   iwarp.Config
		reply []byte
		code  rdmap.Code
		want  error
	}{
		{"private data without the enhanced data", iwarp.Config{}, replyFrame(0x10, 2, "\x00\x10\x00"), rdmap.MPAStartup, mpa.ErrFrame},
		{"unenhanced reply", iwarp.Config{Enhanced: mpa.EnhancedRequired}, replyFrame(0x00, 2, ""), rdmap.MPAStartup, mpa.ErrUnenhanced},
		{"another model", iwarp.Config{}, replyFrame(0x10, 2, peerToPeer), rdmap.MPARTR, mpa.ErrConnectionModel},
		{"the other model", iwarp.Config{PeerToPeer: true}, replyFrame(0x10, 2, clientServer), rdmap.MPARTR, mpa.ErrConnectionModel},
		{"ORD above our IRD", iwarp.Config{}, replyFrame(0x10, 2, "\x00\x10\x00\x11"), rdmap.MPAIRD, mpa.ErrInsufficientIRD},
		{"no RTR, so a Send", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, replyFrame(0x10, 2, "\x80\x10\x00\x10"), rdmap.MPARTR, mpa.ErrNoMatchingRTR},
		{"another RTR", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, replyFrame(0x10, 2, "\xc0\x10\x40\x10"), rdmap.MPARTR, mpa.ErrNoMatchingRTR},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(true, crc)+", "+tt.name, func(t *testing.T) {
				tt.cfg.CRC = crc
				r := newRig(t, true, tt.cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				p.crc = crc == iwarp.CRCOn
				p.readStartup()
				p.write(tt.reply)
				// Dial does not wait for the peer.
				d := hang.Receive(t, "Dial", dial)
				if !errors.Is(d.err, tt.want) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, tt.want)
				}
				p.wantTerminate([]byte{byte(tt.code >> 8), byte(tt.code), 0, 0})
				r.wantCounters(map[string]int{"HandshakeFailures": 1, "TerminatesSent": 1})
			})
		}
	}
}

// TestFallbackAfterReply has a peer that accepts an enhanced request with an unenhanced reply. It
// gets a Terminate, and is asked again.
func TestFallbackAfterReply(t *testing.T) {
	r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
	dial := r.dial(t.Context())
	first := acceptPeer(t, r.peers)
	first.readStartup()
	first.write(replyFrame(0, 1, ""))
	second := acceptPeer(t, r.peers)
	second.wantStartup(requestFrame(0, 1, ""))
	second.write(replyFrame(0, 1, ""))
	d := hang.Receive(t, "Dial", dial)
	if d.err != nil {
		t.Fatal(d.err)
	}
	first.wantTerminate([]byte{0x20, 0x04, 0, 0})
	alive(second, newLocal(t, d.ep).start())
}

// A Terminate carries a CRC if the peer's reply asks for it, though our request did not.
func TestTerminatedReplyCRC(t *testing.T) {
	r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	p.crc = true
	p.readStartup()
	p.write(replyFrame(0x50, 2, "\x00\x10\x00\x11"))
	p.wantTerminate([]byte{0x20, 0x06, 0, 0})
	if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, mpa.ErrInsufficientIRD) {
		t.Errorf("Dial: got error %v, want %v", d.err, mpa.ErrInsufficientIRD)
	}
}
