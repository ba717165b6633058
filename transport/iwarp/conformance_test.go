package iwarp

import (
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// quiet is a logger for tests whose peers break the protocol on purpose.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// conformanceShare is the part of the setups with which the suite runs: one of so many. It is 1, but where all takes too long.
var conformanceShare = 1

// TestConformance runs the suite over every kind of connection: the ways to set one up, with markers in either direction, and CRC off and on.
func TestConformance(t *testing.T) {
	for i, setup := range conformanceSetups() {
		t.Run(setup.name, func(t *testing.T) {
			t.Run("agreed", setup.testAgreed)
			if i%conformanceShare != 0 {
				return
			}
			limit := mpa.MaxPrivateData
			if setup.dialer.Enhanced != mpa.EnhancedNever && setup.dialer.RNIC != mpa.RDMAC {
				limit -= mpa.EnhancedDataLen
			}
			transporttest.Run(t, transporttest.Factory{
				New:            setup.connectable,
				DialerFirst:    !setup.dialer.PeerToPeer,
				MaxPrivateData: limit,
			})
		})
	}
}

// conformanceSetup is a kind of connection.
type conformanceSetup struct {
	name             string
	dialer, listener Config
	want             agreement
}

// agreement is what the two ends of a connection have to have agreed on.
type agreement struct {
	Version, Revision    int
	ToDialer, ToListener bool // markers
	CRC, PeerToPeer      bool
	RTR                  mpa.RTR // that the dialer sends
	MaxSegment           int     // if it is set
}

func conformanceSetups() (all []conformanceSetup) {
	add := func(name string, dialer, listener Config, want agreement) {
		all = append(all, conformanceSetup{name, dialer, listener, want})
	}
	for _, markers := range []struct {
		name             string
		dialer, listener mpa.Markers
	}{
		{"no markers", mpa.MarkersOff, mpa.MarkersAuto},
		{"markers to the dialer", mpa.MarkersOn, mpa.MarkersOff},
		{"markers to the listener", mpa.MarkersOff, mpa.MarkersOn},
		{"markers both ways", mpa.MarkersOn, mpa.MarkersOn},
	} {
		for _, crc := range []struct {
			name string
			crc  CRC
		}{{"CRC off", CRCOff}, {"CRC on", CRCOn}} {
			for _, model := range []struct {
				name string
				cfg  Config
				want agreement
			}{
				{"revision 1", Config{Enhanced: mpa.EnhancedNever}, agreement{Revision: 1}},
				{"enhanced", Config{Enhanced: mpa.EnhancedRequired}, agreement{Revision: 2}},
				{"peer-to-peer, RTR by Send", Config{PeerToPeer: true, RTR: mpa.RTRSend}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRSend}},
				{"peer-to-peer, RTR by Write", Config{PeerToPeer: true, RTR: mpa.RTRWrite}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRWrite}},
				{"peer-to-peer, RTR by Read", Config{PeerToPeer: true, RTR: mpa.RTRRead}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRRead}},
				{"peer-to-peer, any RTR", Config{PeerToPeer: true}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRWrite}},
			} {
				dialer, want := model.cfg, model.want
				dialer.CRC = crc.crc
				listener := dialer
				dialer.Markers, listener.Markers = markers.dialer, markers.listener
				want.Version, want.CRC = 1, crc.crc == CRCOn
				want.ToDialer, want.ToListener = markers.dialer == mpa.MarkersOn, markers.listener == mpa.MarkersOn
				add(model.name+", "+markers.name+", "+crc.name, dialer, listener, want)
			}
		}
	}
	for _, small := range []struct {
		name string
		cfg  Config
		want agreement
	}{
		{"small segments, CRC off", Config{MaxSegment: 1442, CRC: CRCOff}, agreement{MaxSegment: 1442}},
		{"small segments, CRC on", Config{MaxSegment: 1442, CRC: CRCOn}, agreement{MaxSegment: 1442, CRC: true}},
		{"small segments, markers", Config{MaxSegment: 1442, CRC: CRCOff, Markers: mpa.MarkersOn}, agreement{MaxSegment: 1442}},
		{"small segments, markers, CRC on", Config{MaxSegment: 1442, CRC: CRCOn, Markers: mpa.MarkersOn}, agreement{MaxSegment: 1442, CRC: true}},
		{"as long as a TCP segment, markers", Config{MaxSegment: mpa.OneSegment, CRC: CRCOff, Markers: mpa.MarkersOn}, agreement{}},
	} {
		small.want.Version, small.want.Revision = 1, 2
		small.want.ToDialer = small.cfg.Markers == mpa.MarkersOn
		small.want.ToListener = small.want.ToDialer
		add(small.name, small.cfg, small.cfg, small.want)
	}

	// With version 0 there are no two ways about the rest.
	rdmac, permissive := Config{RNIC: mpa.RDMAC}, Config{RNIC: mpa.Permissive}
	revision1 := permissive
	revision1.Enhanced = mpa.EnhancedNever
	zero := agreement{ToDialer: true, ToListener: true, CRC: true}
	add("revision 0, RDMAC to RDMAC", rdmac, rdmac, zero)
	add("revision 0, RDMAC to permissive", rdmac, permissive, zero)
	add("revision 0, permissive to RDMAC", revision1, rdmac, zero)
	add("revision 0 in reply to an enhanced request, permissive to RDMAC", permissive, rdmac, zero)
	return all
}

// testAgreed checks that a setup is what its name says.
func (s *conformanceSetup) testAgreed(t *testing.T) {
	c := newPairing(t, s.dialer, s.listener)
	if c.dialed.err != nil || c.acceptErr != nil {
		t.Fatalf("Dial: %v; Accept: %v; want a connection", c.dialed.err, c.acceptErr)
	}
	for _, ep := range []transport.Endpoint{c.dialed.ep, c.accepted} {
		setup, _ := SetupOf(ep)
		got := agreement{
			setup.Version, setup.Revision, setup.MarkersOut, setup.MarkersIn, setup.CRC, setup.PeerToPeer, setup.RTR,
			ep.(*endpoint).llp.MaxSegment(),
		}
		want := s.want
		if setup.Initiator {
			got.ToDialer, got.ToListener = setup.MarkersIn, setup.MarkersOut
		} else {
			got.RTR = want.RTR // or several, among them
			if setup.RTR&want.RTR != want.RTR {
				t.Errorf("the listening end takes an RTR by %v, want %v among them", setup.RTR, want.RTR)
			}
		}
		if want.MaxSegment == 0 {
			got.MaxSegment = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("setup, initiator %t (-want +got):\n%s", setup.Initiator, diff)
		}
	}
}

// connectable returns a listener and a dialer with the limits that a subtest wants.
func (s *conformanceSetup) connectable(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
	limited := func(cfg Config) Config {
		cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
		if s.want.Revision < 2 {
			// Without negotiation the two have to be told.
			cfg.ORD = min(effective(o.ORD, DefaultReads), effective(o.IRD, DefaultReads))
			if cfg.ORD == 0 {
				cfg.ORD = -1
			}
		}
		if o.IRD < 0 && cfg.RTR == mpa.RTRRead {
			cfg.RTR = mpa.RTRWrite // an RTR by Read needs an IRD
		}
		cfg.Logger = quiet
		return cfg
	}
	l, err := Listen(tb.Context(), "127.0.0.1:0", limited(s.listener))
	if err != nil {
		tb.Fatal(err)
	}
	return l, Dialer{limited(s.dialer)}, l.Addr().String()
}
