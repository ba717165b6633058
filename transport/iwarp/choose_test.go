package iwarp_test

import (
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestChoose has Config.Choose decide what the connection is like.
func TestChoose(t *testing.T) {
	enhanced := requestFrame(0x10, 2, clientServer)
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		request []byte
		choose  func(cfg *mpa.Config)
		reply   []byte
		want    mpa.Setup
	}{
		{"nothing", iwarp.Config{}, enhanced, func(*mpa.Config) {}, replyFrame(0x10, 2, "\x00\x10\x00\x02"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 2}, Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 2}},
		{"markers", iwarp.Config{}, enhanced, func(c *mpa.Config) { c.Markers = mpa.MarkersOn }, replyFrame(0x90, 2, "\x00\x10\x00\x02"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 2}, Revision: 2, Enhanced: true, MarkersIn: true, PeerIRD: 2, PeerORD: 2}},
		{"no markers", iwarp.Config{Markers: mpa.MarkersOn}, enhanced, func(c *mpa.Config) { c.Markers = mpa.MarkersOff },
			replyFrame(0x10, 2, "\x00\x10\x00\x02"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 2}, Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 2}},
		{"CRC", iwarp.Config{}, enhanced, func(c *mpa.Config) { c.CRC = true }, replyFrame(0x50, 2, "\x00\x10\x00\x02"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 2}, Revision: 2, Enhanced: true, CRC: true, PeerIRD: 2, PeerORD: 2}},
		{"IRD and ORD", iwarp.Config{}, enhanced, func(c *mpa.Config) { c.IRD, c.ORD = 5, 1 }, replyFrame(0x10, 2, "\x00\x05\x00\x01"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 5, ORD: 1}, Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 2}},
		{"RTR", iwarp.Config{}, requestFrame(0x10, 2, peerToPeer), func(c *mpa.Config) { c.RTR = mpa.RTRWrite }, replyFrame(0x10, 2, "\x80\x10\x80\x02"),
			mpa.Setup{
				Setup:    ddp.Setup{Version: 1, IRD: 16, ORD: 2, RTR: mpa.RTRWrite},
				Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 2, PeerToPeer: true,
			}},
		{"an RDMAC peer after all", iwarp.Config{}, requestFrame(0xc0, 0, ""), func(c *mpa.Config) { c.RNIC = mpa.Permissive }, replyFrame(0xc0, 0, ""),
			mpa.Setup{Setup: ddp.Setup{IRD: 16, ORD: 8}, CRC: true, MarkersIn: true, MarkersOut: true, PeerIRD: -1, PeerORD: -1}},
		{"version 0", iwarp.Config{RNIC: mpa.Permissive}, requestFrame(0x00, 1, ""), func(c *mpa.Config) { c.Version = mpa.VersionRDMAC },
			replyFrame(0xc0, 0, ""),
			mpa.Setup{Setup: ddp.Setup{IRD: 16, ORD: 8}, CRC: true, MarkersIn: true, MarkersOut: true, PeerIRD: -1, PeerORD: -1}},
		{"version 1", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, enhanced, func(c *mpa.Config) { c.Version = mpa.VersionIETF },
			replyFrame(0x10, 2, "\x00\x10\x00\x02"),
			mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 2}, Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = iwarp.CRCOff
			tt.cfg.Choose = func(_ net.Addr, _ *mpa.Request, cfg *mpa.Config) error { tt.choose(cfg); return nil }
			r := newRig(t, false, tt.cfg)
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			ep, err := r.request().Accept(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			p.wantStartup(tt.reply)
			wantSetup(t, ep, tt.want)
			p.crc, p.rdmac = tt.want.CRC, tt.want.Version == 0
			p.mark(tt.want.MarkersIn, tt.want.MarkersOut)
			l := newLocal(t, ep).start()
			if tt.want.PeerToPeer {
				p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
			}
			alive(p, l)
		})
	}
}

// TestChooseSees has Choose decide by what the peer asks for. The request that Choose sees cannot
// be answered.
func TestChooseSees(t *testing.T) {
	var seen []any
	cfg := iwarp.Config{CRC: iwarp.CRCOff, IRD: 3, Choose: func(peer net.Addr, m *mpa.Request, cfg *mpa.Config) error {
		seen = append(seen, peer.String(), m.Revision(), m.Enhanced(), m.CRC(), m.Markers(), m.PeerToPeer(), m.RTR(), m.PeerIRD(), m.PeerORD(),
			string(m.PrivateData()), cfg.IRD)
		if _, err := m.Accept(*cfg, nil); !errors.Is(err, mpa.ErrSnapshot) {
			t.Errorf("Accept: got error %v, want %v", err, mpa.ErrSnapshot)
		}
		if err := m.Reject(*cfg, nil); !errors.Is(err, mpa.ErrSnapshot) {
			t.Errorf("Reject: got error %v, want %v", err, mpa.ErrSnapshot)
		}
		cfg.IRD = m.PeerORD()
		return nil
	}}
	r := newRig(t, false, cfg)
	for range 2 { // a choice does not carry over to the next connection
		seen = nil
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0xd0, 2, "\xc0\x05\x80\x07hello"))
		ep, err := r.request().Accept(t.Context(), transport.Private([]byte("welcome")))
		if err != nil {
			t.Fatal(err)
		}
		newLocal(t, ep)
		want := []any{p.conn.LocalAddr().String(), 2, true, true, true, true, mpa.RTRSend | mpa.RTRWrite, 5, 7, "hello", 3}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("request and Config in Choose (-want +got):\n%s", diff)
		}
		p.wantStartup(replyFrame(0x50, 2, "\xc0\x07\x80\x05welcome"))
	}
}

// TestChooseImpossible has choices that the RNIC does not have, and one that is a refusal. The peer
// is rejected.
func TestChooseImpossible(t *testing.T) {
	errUnwanted := errors.New("not this one")
	for _, tt := range []struct {
		name   string
		rnic   mpa.RNIC
		choose func(*mpa.Config) error
		want   error
	}{
		{"version 0, non-permissive", mpa.NonPermissive, func(c *mpa.Config) error { c.Version = mpa.VersionRDMAC; return nil }, mpa.ErrVersion},
		{"version 1, RDMAC", mpa.RDMAC, func(c *mpa.Config) error { c.Version = mpa.VersionIETF; return nil }, mpa.ErrVersion},
		{"no markers, RDMAC", mpa.RDMAC, func(c *mpa.Config) error { c.Markers = mpa.MarkersOff; return nil }, mpa.ErrMarkersNeeded},
		{"version 0 without markers, permissive", mpa.Permissive, func(c *mpa.Config) error {
			c.Version, c.Markers = mpa.VersionRDMAC, mpa.MarkersOff
			return nil
		}, mpa.ErrMarkersNeeded},
		{"another RNIC", mpa.NonPermissive, func(c *mpa.Config) error { c.RNIC = mpa.RDMAC + 1; return nil }, mpa.ErrConfig},
		{"too many reads", mpa.NonPermissive, func(c *mpa.Config) error { c.IRD = mpa.MaxReads + 1; return nil }, mpa.ErrConfig},
		{"an RTR that needs an IRD", mpa.NonPermissive, func(c *mpa.Config) error { c.IRD, c.RTR = 0, mpa.RTRRead; return nil }, mpa.ErrConfig},
		{"refused", mpa.NonPermissive, func(c *mpa.Config) error { c.CRC = false; return errUnwanted }, errUnwanted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, false, iwarp.Config{RNIC: tt.rnic, CRC: iwarp.CRCOff, Choose: func(_ net.Addr, _ *mpa.Request, cfg *mpa.Config) error {
				return tt.choose(cfg)
			}})
			p := dialPeer(t, r.listener.Addr().String())
			p.write(requestFrame(0xc0, 1, "")) // all of them accept this
			req := r.request()
			ep, err := req.Accept(t.Context(), transport.Private([]byte("secret")))
			if !errors.Is(err, tt.want) || ep != nil {
				t.Errorf("Accept: got %v, %v, want %v", ep, err, tt.want)
			}
			reply := replyFrame(0x60, 1, "")
			if tt.rnic == mpa.RDMAC {
				reply = replyFrame(0xe0, 0, "")
			}
			p.wantStartup(reply)
			p.wantFIN()
			r.wantCounters(map[string]int{"Rejected": 1})
			r.log.want(t, 1, p.conn.LocalAddr().String())
			if err := req.Reject(nil); !errors.Is(err, mpa.ErrAnswered) {
				t.Errorf("Reject: got %v, want %v", err, mpa.ErrAnswered)
			}
		})
	}
}

// Choose may refuse the connection.
func TestChooseRefusal(t *testing.T) {
	r := newRig(t, false, iwarp.Config{RNIC: mpa.Permissive, CRC: iwarp.CRCOff, Choose: func(_ net.Addr, _ *mpa.Request, cfg *mpa.Config) error {
		cfg.Version = mpa.VersionIETF
		return nil
	}})
	p := dialPeer(t, r.listener.Addr().String())
	p.write(requestFrame(0xc0, 0, ""))
	if ep, err := r.request().Accept(t.Context(), nil); !errors.Is(err, mpa.ErrRevision) || ep != nil {
		t.Errorf("Accept: got %v, %v, want %v", ep, err, mpa.ErrRevision)
	}
	p.wantStartup(replyFrame(0x60, 1, ""))
	p.wantFIN()
	r.wantCounters(map[string]int{"Rejected": 1})
}

// A dialect set by Choose also applies to Terminate messages.
func TestChooseDialect(t *testing.T) {
	for _, draft := range []bool{false, true} {
		r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, Draft05: !draft, Choose: func(_ net.Addr, _ *mpa.Request, cfg *mpa.Config) error {
			cfg.Draft05 = draft
			return nil
		}})
		p := dialPeer(t, r.listener.Addr().String())
		p.write(requestFrame(0x10, 2, peerToPeer))
		ep, err := r.request().Accept(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		newLocal(t, ep).start()
		p.readStartup()
		p.send(segment(toSTag(rdmap.OpWrite, 1, 0), "no RTR"))
		want := []byte{0x20, 0x07, 0, 0}
		if draft {
			want[0] = 0x23
		}
		p.wantTerminate(want)
	}
}

// TestRNICConfig asks an RNIC for what it does not have. Listen and Dial fail, and Dial does not
// connect.
func TestRNICConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  iwarp.Config
		want error
	}{
		{"version 0, non-permissive", iwarp.Config{Version: mpa.VersionRDMAC}, mpa.ErrVersion},
		{"version 1, RDMAC", iwarp.Config{RNIC: mpa.RDMAC, Version: mpa.VersionIETF}, mpa.ErrVersion},
		{"no markers, RDMAC", iwarp.Config{RNIC: mpa.RDMAC, Markers: mpa.MarkersOff}, mpa.ErrMarkersNeeded},
		{"no markers, version 0", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, Markers: mpa.MarkersOff}, mpa.ErrMarkersNeeded},
		{"enhanced, RDMAC", iwarp.Config{RNIC: mpa.RDMAC, Enhanced: mpa.EnhancedRequired}, mpa.ErrConfig},
		{"peer-to-peer, RDMAC", iwarp.Config{RNIC: mpa.RDMAC, PeerToPeer: true}, mpa.ErrConfig},
		{"manual reads, RDMAC", iwarp.Config{RNIC: mpa.RDMAC, ManualReads: true}, mpa.ErrConfig},
		{"unknown RNIC", iwarp.Config{RNIC: 3}, mpa.ErrConfig},
		{"unknown version", iwarp.Config{Version: 3}, mpa.ErrConfig},
		{"unknown markers", iwarp.Config{Markers: 3}, mpa.ErrConfig},
		{"unknown CRC", iwarp.Config{CRC: 3}, mpa.ErrConfig},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", tt.cfg)
			if listens := tt.cfg.PeerToPeer || tt.cfg.ManualReads || tt.cfg.Enhanced == mpa.EnhancedRequired; listens {
				if err != nil { // a listener follows the request
					t.Errorf("Listen: got error %v, want none", err)
				}
			} else if !errors.Is(err, tt.want) || !errors.Is(err, mpa.ErrConfig) {
				t.Errorf("Listen: got error %v, want %v", err, tt.want)
			}
			if err == nil {
				l.Close()
			}
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			d := hang.Receive(t, "Dial", dial)
			if !errors.Is(d.err, tt.want) || !errors.Is(d.err, mpa.ErrConfig) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, tt.want)
			}
			r.wantNoDial()
			r.wantCounters(map[string]int{})
		})
	}
}
