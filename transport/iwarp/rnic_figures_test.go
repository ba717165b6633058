package iwarp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// rnicSide is the heading of a row or column of Figures 2 to 4 of
// draft-carrier-rddp-rnic-interop-00.
type rnicSide struct {
	rnic    mpa.RNIC
	markers int // M
}

func (s rnicSide) String() string { return fmt.Sprintf("%v M=%d", s.rnic, s.markers) }

// config returns the Config of one of our ends. CRC is not in the figures: an RDMAC RNIC always has
// it.
func (s rnicSide) config(crc iwarp.CRC, enhanced mpa.Enhanced) iwarp.Config {
	cfg := iwarp.Config{RNIC: s.rnic, CRC: crc, Enhanced: enhanced, NudgeAfter: -1}
	if s.markers == 1 && s.rnic != mpa.RDMAC {
		cfg.Markers = mpa.MarkersOn
	}
	return cfg
}

// rnicFigures are Figures 2 to 4. A cell has the version, and the markers in what the initiator and
// the responder receive.
var rnicFigures = []struct {
	name       string
	responders []rnicSide // the columns
	initiators []rnicSide // the rows
	cells      [][]string
}{
	{
		"Figure 2",
		[]rnicSide{{mpa.RDMAC, 1}, {mpa.NonPermissive, 0}, {mpa.NonPermissive, 1}},
		[]rnicSide{
			{mpa.RDMAC, 1},
			{mpa.NonPermissive, 0},
			{mpa.NonPermissive, 1},
		},
		[][]string{
			{"V=0 M=1/1", "close", "close"},
			{"close", "V=1 M=0/0", "V=1 M=0/1"},
			{"close", "V=1 M=1/0", "V=1 M=1/1"},
		},
	},
	{
		"Figure 3",
		[]rnicSide{{mpa.RDMAC, 1}, {mpa.Permissive, 0}, {mpa.Permissive, 1}},
		[]rnicSide{
			{mpa.RDMAC, 1},
			{mpa.Permissive, 0},
			{mpa.Permissive, 1},
		},
		[][]string{
			{"V=0 M=1/1", "N/A", "V=0 M=1/1"},
			{"V=0 M=1/1", "V=1 M=0/0", "V=1 M=0/1"},
			{"V=0 M=1/1", "V=1 M=1/0", "V=1 M=1/1"},
		},
	},
	{
		"Figure 4",
		[]rnicSide{{mpa.NonPermissive, 0}, {mpa.NonPermissive, 1}, {mpa.Permissive, 0}, {mpa.Permissive, 1}},
		[]rnicSide{
			{mpa.NonPermissive, 0},
			{mpa.NonPermissive, 1},
			{mpa.Permissive, 0},
			{mpa.Permissive, 1},
		},
		[][]string{
			{"V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"},
			{"V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"},
			{"V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"},
			{"V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"},
		},
	},
}

// TestRNICFigures connects a Dialer and a Listener of ours for each cell, with every preference for
// CRC, and with requests of RFC 5044, to which the figures refer, and of RFC 6581. Under the race
// detector it tries half of these.
func TestRNICFigures(t *testing.T) {
	for _, f := range rnicFigures {
		for i, initiator := range f.initiators {
			for j, responder := range f.responders {
				t.Run(fmt.Sprintf("%s, row %v, column %v", f.name, initiator, responder), func(t *testing.T) {
					testCell(t, initiator, responder, f.cells[i][j])
				})
			}
		}
	}
}

// testCell tests a cell in all its variants.
func testCell(t *testing.T, initiator, responder rnicSide, want string) {
	if want == "N/A" {
		// The responder never replies with M=0, so this is the neighbouring cell (section 5.3).
		want = "V=0 M=1/1"
	}
	for _, enhanced := range []mpa.Enhanced{mpa.EnhancedNever, mpa.EnhancedAuto} {
		for _, ask := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			for _, answer := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
				if raceDetector && (ask == answer) == (enhanced == mpa.EnhancedAuto) {
					continue
				}
				name := fmt.Sprintf("enhanced %t, CRC %t and %t", enhanced == mpa.EnhancedAuto, ask == iwarp.CRCOn, answer == iwarp.CRCOn)
				t.Run(name, func(t *testing.T) {
					c := newPairing(t, initiator.config(ask, enhanced), responder.config(answer, mpa.EnhancedAuto))
					if want == "close" {
						c.wantClose()
						return
					}
					crc := ask == iwarp.CRCOn || answer == iwarp.CRCOn
					if want == "V=0 M=1/1" {
						crc = true
					}
					revision := 0
					switch {
					case want == "V=0 M=1/1":
					case enhanced == mpa.EnhancedAuto:
						revision = 2
					default:
						revision = 1
					}
					c.wantConnection(want, crc, revision)
				})
			}
		}
	}
}

// pairing is a Dialer and a Listener of ours, each with counters and a log of its own.
type pairing struct {
	t                  *testing.T
	dialing, listening *rig
	dialed             dialResult
	accepted           transport.Endpoint
	acceptErr          error
}

// newPairing connects them, or tries to.
func newPairing(t *testing.T, initiator, responder iwarp.Config) *pairing {
	t.Helper()
	c := &pairing{t: t, listening: newRig(t, false, responder)}
	// The dialing side has no listener for peers.
	c.dialing = &rig{t: t, dialing: true, cfg: initiator, log: new(logbook)}
	c.dialing.cfg.Counters = new(iwarp.Counters)
	c.dialing.cfg.Logger = slog.New(slog.NewTextHandler(c.dialing.log, nil))
	dial := make(chan dialResult, 1)
	go func() {
		ep, err := iwarp.Dialer{Config: c.dialing.cfg}.Dial(t.Context(),
			c.listening.listener.Addr().String(), transport.Private([]byte("initiator")))
		dial <- dialResult{ep, err}
	}()
	req := c.listening.request()
	c.accepted, c.acceptErr = req.Accept(t.Context(), transport.Private([]byte("responder")))
	c.dialed = hang.Receive(t, "Dial", dial)
	for _, ep := range []transport.Endpoint{c.accepted, c.dialed.ep} {
		if ep != nil {
			t.Cleanup(func() { ep.Close() })
		}
	}
	return c
}

// wantConnection checks what each side reports about a connection, and that it works.
func (c *pairing) wantConnection(want string, crc bool, revision int) {
	c.t.Helper()
	if c.dialed.err != nil || c.acceptErr != nil {
		c.t.Fatalf("Dial: %v; Accept: %v; want a connection", c.dialed.err, c.acceptErr)
	}
	a, _ := iwarp.SetupOf(c.dialed.ep)
	b, _ := iwarp.SetupOf(c.accepted)
	bit := map[bool]int{true: 1}
	type negotiated struct {
		Cell, Mirrored string // as seen by the initiator, and by the responder
		CRC            [2]bool
		Revision       [2]int
		Private        [2]string
	}
	got := negotiated{
		fmt.Sprintf("V=%d M=%d/%d", a.Version, bit[a.MarkersIn], bit[a.MarkersOut]),
		fmt.Sprintf("V=%d M=%d/%d", b.Version, bit[b.MarkersOut], bit[b.MarkersIn]),
		[2]bool{a.CRC, b.CRC}, [2]int{a.Revision, b.Revision}, [2]string{string(a.PrivateData), string(b.PrivateData)},
	}
	wanted := negotiated{want, want, [2]bool{crc, crc}, [2]int{revision, revision}, [2]string{"responder", "initiator"}}
	if diff := cmp.Diff(wanted, got); diff != "" {
		c.t.Errorf("SetupOf (-want +got):\n%s", diff)
	}
	transfer(c.t, newLocal(c.t, c.dialed.ep), newLocal(c.t, c.accepted))
	for _, r := range []*rig{c.dialing, c.listening} {
		r.wantCounters(map[string]int{"Connections": 1})
		r.log.want(c.t, 0)
	}
}

// wantClose checks that there is no connection between an RDMAC side and one that is not
// permissive, and that both know why.
func (c *pairing) wantClose() {
	c.t.Helper()
	if c.dialed.ep != nil || !errors.Is(c.dialed.err, mpa.ErrRevision) {
		c.t.Errorf("Dial: got %v, %v, want %v", c.dialed.ep, c.dialed.err, mpa.ErrRevision)
	}
	if c.dialing.cfg.RNIC == mpa.RDMAC { // section 5.2.1
		var refused *mpa.RejectError
		var general *transport.RejectError
		if !errors.As(c.dialed.err, &refused) || !errors.As(c.dialed.err, &general) {
			c.t.Errorf("Dial: got error %v, want a RejectError", c.dialed.err)
		}
		var failed *mpa.StartupError
		if c.accepted != nil || !errors.Is(c.acceptErr, mpa.ErrRevision) || !errors.As(c.acceptErr, &failed) {
			c.t.Errorf("Accept: got %v, %v, want a StartupError that wraps %v", c.accepted, c.acceptErr, mpa.ErrRevision)
		}
		c.dialing.wantCounters(map[string]int{"Rejected": 1})
		c.listening.wantCounters(map[string]int{"Rejected": 1})
		c.listening.log.want(c.t, 1, "connection refused", "unusable MPA revision")
		return
	}
	// Section 5.2.2: the responder accepts, then the initiator closes.
	var failed *mpa.StartupError
	if !errors.As(c.dialed.err, &failed) || failed.Terminate {
		c.t.Errorf("Dial: got error %v, want a StartupError without a Terminate", c.dialed.err)
	}
	if c.acceptErr != nil {
		c.t.Fatalf("Accept: %v", c.acceptErr)
	}
	l := newLocal(c.t, c.accepted).start()
	if err := l.ended(); !errors.Is(err, transport.ErrClosedByPeer) || errors.Is(err, syscall.ECONNRESET) {
		c.t.Errorf("the responder's connection ended with %v, want %v, gracefully", err, transport.ErrClosedByPeer)
	}
	c.dialing.wantCounters(map[string]int{"HandshakeFailures": 1})
	c.listening.wantCounters(map[string]int{"Connections": 1})
	c.listening.log.want(c.t, 0)
}
