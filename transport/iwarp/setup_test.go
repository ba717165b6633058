package iwarp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestSetupOf checks what both sides report about the setup, and what the peer said.
func TestSetupOf(t *testing.T) {
	cfg := iwarp.Config{CRC: iwarp.CRCOff, IRD: 5, ORD: 7}
	t.Run("dialing", func(t *testing.T) {
		r := newRig(t, true, cfg)
		dial := r.dial(t.Context())
		p := acceptPeer(t, r.peers)
		p.wantStartup(requestFrame(0x10, 2, "\x00\x05\x00\x07"))
		p.write(replyFrame(0x50, 2, "\x00\x03\x00\x04hello"))
		d := hang.Receive(t, "Dial", dial)
		if d.err != nil {
			t.Fatal(d.err)
		}
		defer d.ep.Close()
		wantSetup(t, d.ep, mpa.Setup{
			Setup:    ddp.Setup{Version: 1, Initiator: true, IRD: 5, ORD: 3, PrivateData: []byte("hello")},
			Revision: 2, Enhanced: true, CRC: true, PeerIRD: 3, PeerORD: 4,
		})
	})
	t.Run("listening", func(t *testing.T) {
		r := newRig(t, false, cfg)
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x50, 2, "\xc0\x03\x80\x04hello"))
		req := r.request()
		m, ok := iwarp.RequestOf(wrappedRequest{wrappedRequest{req}})
		if !ok {
			t.Fatal("RequestOf: got false")
		}
		got := []any{m.Revision(), m.Enhanced(), m.CRC(), m.Markers(), m.PeerToPeer(), m.RTR(), m.PeerIRD(), m.PeerORD(), string(m.PrivateData())}
		want := []any{2, true, true, false, true, mpa.RTRSend | mpa.RTRWrite, 3, 4, "hello"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("RequestOf (-want +got):\n%s", diff)
		}
		if got := string(req.Info().PrivateData); got != "hello" {
			t.Errorf("private data %q, want %q", got, "hello")
		}
		ep, err := req.Accept(t.Context(), transport.Private([]byte("welcome")))
		if err != nil {
			t.Fatal(err)
		}
		defer ep.Close()
		p.wantStartup(replyFrame(0x50, 2, "\xc0\x05\x80\x03welcome"))
		wantSetup(t, ep, mpa.Setup{
			Setup:    ddp.Setup{Version: 1, IRD: 5, ORD: 3, RTR: mpa.RTRSend | mpa.RTRWrite, PrivateData: []byte("hello")},
			Revision: 2, Enhanced: true, CRC: true, PeerIRD: 3, PeerORD: 4, PeerToPeer: true,
		})
	})
}

func wantSetup(t *testing.T, ep transport.Endpoint, want mpa.Setup) {
	t.Helper()
	got, ok := iwarp.SetupOf(ep)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("SetupOf (-want +got):\n%s", diff)
	}
	info := ep.Info()
	if info.IRD != want.IRD || info.ORD != want.ORD || !bytes.Equal(info.PrivateData, want.PrivateData) {
		t.Errorf("Info: got %+v, want what was agreed on", info)
	}
}

// wrappedRequest is a request that wraps another.
type wrappedRequest struct{ transport.Request }

func (w wrappedRequest) Unwrap() transport.Request { return w.Request }

// TestOthersSetup calls SetupOf and RequestOf with objects of another provider.
func TestOthersSetup(t *testing.T) {
	if got, ok := iwarp.SetupOf(nil); ok {
		t.Errorf("SetupOf: got %+v", got)
	}
	for _, r := range []transport.Request{nil, wrappedRequest{}} {
		if got, ok := iwarp.RequestOf(r); ok {
			t.Errorf("RequestOf(%T): got %+v", r, got)
		}
	}
}

// TestAnsweredTwice answers a request again. This does not affect the connection.
func TestAnsweredTwice(t *testing.T) {
	again := func(t *testing.T, req transport.Request) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{ctx, t.Context()} {
			if ep, err := req.Accept(ctx, nil); !errors.Is(err, mpa.ErrAnswered) || ep != nil {
				t.Errorf("Accept: got %v, %v, want %v", ep, err, mpa.ErrAnswered)
			}
		}
		if err := req.Reject(nil); !errors.Is(err, mpa.ErrAnswered) {
			t.Errorf("Reject: got error %v, want %v", err, mpa.ErrAnswered)
		}
	}
	t.Run("accepted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// If the second answer set a deadline, that would pass in the middle of an FPDU.
			cfg := iwarp.Config{CRC: iwarp.CRCOff, HandshakeTimeout: shortStartup}
			r := newVirtualRig(t, false, cfg)
			p := r.dialPeer()
			p.write(requestFrame(0x10, 2, clientServer))
			req := r.request()
			ep, err := req.Accept(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			p.readStartup()
			l := newLocal(t, ep)
			fpdu := p.frame(segment(onQueue(rdmap.OpSend, 1), "unharmed"))
			p.write(fpdu[:10])
			l.receives(1)
			l.start()
			again(t, req)
			for range 20 { // passes the time
				p.wantSilence()
			}
			p.write(fpdu[10:])
			l.wantMessage("unharmed")
			p.sends++
			alive(p, l)
		})
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff})
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x10, 2, "\x00\x20\x00\x20"))
		req := r.request()
		if err := req.Reject([]byte("no")); err != nil {
			t.Fatal(err)
		}
		again(t, req)
		p.wantStartup(replyFrame(0x30, 2, "\x00\x10\x00\x10no"))
		p.wantFIN()
		r.wantCounters(map[string]int{"Rejected": 1})
	})
}

// TestPrivateDataLimits answers with more private data than fits. The request can still be answered
// then.
func TestPrivateDataLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		request []byte
		max     int
	}{
		{"enhanced", iwarp.Config{}, requestFrame(0x10, 2, "\x00\x02\x00\x02"+strings.Repeat("p", 508)), 508},
		{"unenhanced", iwarp.Config{Enhanced: mpa.EnhancedNever}, requestFrame(0, 1, strings.Repeat("p", 512)), 512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = iwarp.CRCOff
			r := newRig(t, false, tt.cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			req := r.request()
			if got, want := string(req.Info().PrivateData), strings.Repeat("p", tt.max); got != want {
				t.Errorf("private data %q, want %q", got, want)
			}
			long := make([]byte, tt.max+1)
			_, err := req.Accept(t.Context(), transport.Private(long))
			if !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Accept: got error %v, want %v", err, transport.ErrPrivateData)
			}
			if err := req.Reject(long); !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Reject: got error %v, want %v", err, transport.ErrPrivateData)
			}
			_, err = iwarp.Dialer{Config: tt.cfg}.Dial(t.Context(), r.listener.Addr().String(),
				transport.Private(long))
			if !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Dial: got error %v, want %v", err, transport.ErrPrivateData)
			}
			ep, err := req.Accept(t.Context(), transport.Private(long[:tt.max]))
			if err != nil {
				t.Fatal(err)
			}
			reply := p.readStartup()
			if got := string(reply[len(reply)-tt.max:]); got != string(long[:tt.max]) {
				t.Errorf("reply with private data %q", got)
			}
			alive(p, newLocal(t, ep).start())
		})
	}
}

// TestAutomaticRejects has requests that a listener cannot accept.
func TestAutomaticRejects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		request []byte
		reply   []byte // nil: the connection is closed
		want    error
		counter string
	}{
		{"IRD too small", iwarp.Config{ORD: 8, RequiredORD: 4}, requestFrame(0x10, 2, "\x00\x03\x00\x02"),
			replyFrame(0x30, 2, "\x00\x10\x00\x04"), mpa.ErrInsufficientIRD, "Rejected"},
		{"revision 0", iwarp.Config{}, requestFrame(0x00, 0, ""), replyFrame(0x20, 1, ""), mpa.ErrRevision, "Rejected"},
		{"enhanced, but never", iwarp.Config{Enhanced: mpa.EnhancedNever}, requestFrame(0x10, 2, clientServer), nil, mpa.ErrEnhanced, "HandshakeFailures"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = iwarp.CRCOff
			r := newRig(t, false, tt.cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			req := r.request()
			ep, err := req.Accept(t.Context(), transport.Private([]byte("secret")))
			if !errors.Is(err, tt.want) || ep != nil {
				t.Errorf("Accept: got %v, %v, want %v", ep, err, tt.want)
			}
			if tt.reply != nil {
				p.wantStartup(tt.reply)
			}
			p.wantFIN()
			r.wantCounters(map[string]int{tt.counter: 1})
			r.log.want(t, 1, p.conn.LocalAddr().String())
		})
	}
}

// TestListenerCloses closes a listener with connections in every state. Established ones stay.
func TestListenerCloses(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff})
	made, l := r.connect()
	startups := newGoroutines() // the listener has one for each connection
	silent := dialPeer(t, r.listener.Addr().String())
	half := dialPeer(t, r.listener.Addr().String())
	half.write(requestFrame(0x10, 2, clientServer)[:10])
	waiting := dialPeer(t, r.listener.Addr().String())
	hang.Until(t, "three silent peers", func() bool { return startups() == 3 })
	waiting.write(requestFrame(0x10, 2, clientServer))
	hang.Until(t, "two silent peers and one that waits", func() bool { return startups() == 2 })
	for range 2 {
		if err := r.listener.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, p := range []*peer{silent, half, waiting} {
		// Unread bytes may cause a reset here, and that is fine.
		if _, err := p.conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("connection not closed: %v", err)
		}
	}
	if _, err := r.listener.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: got error %v, want %v", err, net.ErrClosed)
	}
	alive(made, l.start())
	r.log.want(t, 0)
}

// TestUnenhancedRevision2 has requests of revision 2 without enhanced data, which our Dialer never
// sends, in all variants.
func TestUnenhancedRevision2(t *testing.T) {
	for bits := range byte(16) {
		request, reply := bits>>2<<6, bits<<6 // M and C
		t.Run(fmt.Sprintf("request %#02x, reply %#02x", request, reply), func(t *testing.T) {
			cfg := iwarp.Config{CRC: iwarp.CRCOff}
			if reply&0x80 != 0 {
				cfg.Markers = mpa.MarkersOn
			}
			if reply&0x40 != 0 {
				cfg.CRC = iwarp.CRCOn
			}
			r := newRig(t, false, cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.crc = (request|reply)&0x40 != 0
			p.mark(reply&0x80 != 0, request&0x80 != 0)
			p.write(requestFrame(request, 2, "hello"))
			ep, err := r.request().Accept(t.Context(), transport.Private([]byte("welcome")))
			if err != nil {
				t.Fatal(err)
			}
			p.wantStartup(replyFrame(reply|request&0x40, 2, "welcome"))
			wantSetup(t, ep, mpa.Setup{
				Setup:    ddp.Setup{Version: 1, IRD: iwarp.DefaultReads, ORD: mpa.UnenhancedORD, PrivateData: []byte("hello")},
				Revision: 2, CRC: p.crc, MarkersIn: reply&0x80 != 0, MarkersOut: request&0x80 != 0, PeerIRD: -1, PeerORD: -1,
			})
			alive(p, newLocal(t, ep).start())
		})
	}
}
