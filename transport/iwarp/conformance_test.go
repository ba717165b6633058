package iwarp_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// quiet is a logger for tests whose peers break the protocol on purpose.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// raceDetector says that the tests run under the race detector.
var raceDetector bool

// conformanceShare selects one of so many setups for the suite. It is 1, unless all would take too
// long.
var conformanceShare = 1

// TestConformance runs the suite over every kind of connection: all ways to set one up, with
// markers in either direction, and with CRC off and on.
func TestConformance(t *testing.T) {
	for i, setup := range conformanceSetups() {
		t.Run(setup.name, func(t *testing.T) {
			t.Run("agreed", setup.testAgreed)
			if i%conformanceShare != 0 {
				return
			}
			transporttest.Run(t, transporttest.Factory{
				New:           setup.connectable,
				UnusedAddr:    deadport.New(t, "127.0.0.1").String(),
				DialerFirst:   !setup.dialer.PeerToPeer,
				ReportsCauses: true,
			})
		})
	}
}

// conformanceSetup is a kind of connection.
type conformanceSetup struct {
	name             string
	dialer, listener iwarp.Config
	want             agreement
}

// agreement is what the two ends of a connection must have agreed on.
type agreement struct {
	Version, Revision    int
	ToDialer, ToListener bool // markers
	CRC, PeerToPeer      bool
	RTR                  mpa.RTR // the dialer's kind of RTR
}

func conformanceSetups() (all []conformanceSetup) {
	add := func(name string, dialer, listener iwarp.Config, want agreement) {
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
			crc  iwarp.CRC
		}{{"CRC off", iwarp.CRCOff}, {"CRC on", iwarp.CRCOn}} {
			for _, model := range []struct {
				name string
				cfg  iwarp.Config
				want agreement
			}{
				{"revision 1", iwarp.Config{Enhanced: mpa.EnhancedNever}, agreement{Revision: 1}},
				{"enhanced", iwarp.Config{Enhanced: mpa.EnhancedRequired}, agreement{Revision: 2}},
				{"peer-to-peer, RTR by Send", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRSend}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRSend}},
				{"peer-to-peer, RTR by Write", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRWrite}},
				{"peer-to-peer, RTR by Read", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRRead}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRRead}},
				{"peer-to-peer, any RTR", iwarp.Config{PeerToPeer: true}, agreement{Revision: 2, PeerToPeer: true, RTR: mpa.RTRWrite}},
			} {
				dialer, want := model.cfg, model.want
				dialer.CRC = crc.crc
				listener := dialer
				dialer.Markers, listener.Markers = markers.dialer, markers.listener
				want.Version, want.CRC = 1, crc.crc == iwarp.CRCOn
				want.ToDialer, want.ToListener = markers.dialer == mpa.MarkersOn, markers.listener == mpa.MarkersOn
				add(model.name+", "+markers.name+", "+crc.name, dialer, listener, want)
			}
		}
	}
	for _, small := range []struct {
		name string
		cfg  iwarp.Config
		want agreement
	}{
		{"small segments, CRC off", iwarp.Config{MaxSegment: 1442, CRC: iwarp.CRCOff}, agreement{}},
		{"small segments, CRC on", iwarp.Config{MaxSegment: 1442, CRC: iwarp.CRCOn}, agreement{CRC: true}},
		{"small segments, markers", iwarp.Config{MaxSegment: 1442, CRC: iwarp.CRCOff, Markers: mpa.MarkersOn}, agreement{}},
		{"small segments, markers, CRC on", iwarp.Config{MaxSegment: 1442, CRC: iwarp.CRCOn, Markers: mpa.MarkersOn}, agreement{CRC: true}},
		{"as long as a TCP segment, markers", iwarp.Config{MaxSegment: mpa.FPDUPerTCPSegment, CRC: iwarp.CRCOff, Markers: mpa.MarkersOn}, agreement{}},
	} {
		small.want.Version, small.want.Revision = 1, 2
		small.want.ToDialer = small.cfg.Markers == mpa.MarkersOn
		small.want.ToListener = small.want.ToDialer
		add(small.name, small.cfg, small.cfg, small.want)
	}

	// With version 0 everything else is fixed.
	rdmac, permissive := iwarp.Config{RNIC: mpa.RDMAC}, iwarp.Config{RNIC: mpa.Permissive}
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
	dialer := s.dialer
	dialer.NudgeAfter = -1 // sent data is counted
	c := newPairing(t, dialer, s.listener)
	if c.dialed.err != nil || c.acceptErr != nil {
		t.Fatalf("Dial: %v; Accept: %v; want a connection", c.dialed.err, c.acceptErr)
	}
	dialed, accepted := newLocal(t, c.dialed.ep).start(), newLocal(t, c.accepted).start()
	for _, l := range []*local{dialed, accepted} {
		setup, _ := iwarp.SetupOf(l.Endpoint)
		got := agreement{
			setup.Version, setup.Revision, setup.MarkersOut, setup.MarkersIn, setup.CRC, setup.PeerToPeer, setup.RTR,
		}
		want := s.want
		if setup.Initiator {
			got.ToDialer, got.ToListener = setup.MarkersIn, setup.MarkersOut
		} else {
			got.RTR = want.RTR // or several, including this one
			if setup.RTR&want.RTR != want.RTR {
				t.Errorf("the listening end takes an RTR by %v, want %v among them", setup.RTR, want.RTR)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("setup, initiator %t (-want +got):\n%s", setup.Initiator, diff)
		}
	}
	if n := s.dialer.MaxSegment; n > 0 {
		dialed.wantSegments(accepted, n)
		accepted.wantSegments(dialed, n)
	}
}

// wantSegments checks that the maximum segment that l sends has n bytes: payload that fits in one
// goes in one FPDU, and one more byte takes two. It counts the bytes of the stream, on which
// nothing may have been sent before.
func (l *local) wantSegments(to *local, n int) {
	l.t.Helper()
	const header = 14 // header of a tagged segment, in bytes
	setup, _ := iwarp.SetupOf(l.Endpoint)
	stream := &peer{t: l.t, crc: setup.CRC}
	stream.mark(setup.MarkersOut, false)
	w := to.expose(transport.RemoteWrite, make([]byte, n))
	want := 0
	for _, segments := range [][]int{{n}, {n, header + 1}} {
		payload := 0
		for _, n := range segments {
			want += len(stream.fpdu(make([]byte, n)))
			payload += n - header
		}
		l.post(&transport.WorkRequest{
			Op: transport.OpWrite, Flags: transport.Signaled, Local: slices(make([]byte, payload)),
			Remote: transport.Remote{STag: w.STag, Offset: w.Base},
		})
		if err := hang.Receive(l.t, "completion", l.completions); err != nil {
			l.t.Fatal(err)
		}
		if sent, _, _ := iwarp.TrafficOf(l.Endpoint); sent != uint64(want) {
			l.t.Errorf("initiator %t: %d bytes sent with a Write of %d, want %d", setup.Initiator, sent, payload, want)
		}
	}
}

// reads is the number of RDMA Reads that an IRD or ORD of a Config stands for.
func reads(n int) int {
	if n == 0 {
		return iwarp.DefaultReads
	}
	return max(n, 0)
}

// connectable returns a listener and a dialer with the limits of a subtest.
func (s *conformanceSetup) connectable(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
	limited := func(cfg iwarp.Config) iwarp.Config {
		cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
		if s.want.Revision < 2 {
			// Without negotiation both sides must be configured.
			cfg.ORD = min(reads(o.ORD), reads(o.IRD))
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
	l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", limited(s.listener))
	if err != nil {
		tb.Fatal(err)
	}
	return l, iwarp.Dialer{Config: limited(s.dialer)}, l.Addr().String()
}
