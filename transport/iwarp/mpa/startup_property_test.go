package mpa_test

import (
	"errors"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// startupConfigs generates Configs that validate accepts.
func startupConfigs(responder bool) *rapid.Generator[mpa.Config] {
	depth := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 2, 8, 16, mpa.MaxReads}), rapid.IntRange(0, mpa.MaxReads))
	return rapid.Custom(func(t *rapid.T) mpa.Config {
		c := mpa.Config{
			IRD: depth.Draw(t, "IRD"), ORD: depth.Draw(t, "ORD"),
			Enhanced: rapid.SampledFrom([]mpa.Enhanced{mpa.EnhancedAuto, mpa.EnhancedRequired, mpa.EnhancedNever}).Draw(t, "enhanced"),
			RTR:      mpa.RTR(rapid.IntRange(0, int(allRTR)).Draw(t, "RTR")),
			CRC:      rapid.Bool().Draw(t, "CRC"),
			OneRTR:   rapid.Bool().Draw(t, "one RTR"),
			Draft05:  rapid.Bool().Draw(t, "draft-05"),
		}
		drawRNIC(t, &c)
		if c.Enhanced != mpa.EnhancedNever && !isOld(c) {
			c.ManualReads = rapid.Bool().Draw(t, "manual reads")
			c.PeerToPeer = rapid.Bool().Draw(t, "peer-to-peer")
		}
		if !c.ManualReads {
			c.RequiredORD = rapid.IntRange(0, c.ORD).Draw(t, "required ORD")
		}
		if responder && c.RTR == mpa.RTRRead && c.IRD == 0 {
			c.IRD = 1
		}
		return c
	})
}

// drawRNIC draws a kind of RNIC, and what it can be set to.
func drawRNIC(t *rapid.T, c *mpa.Config) {
	c.RNIC = rapid.SampledFrom([]mpa.RNIC{mpa.NonPermissive, mpa.Permissive, mpa.RDMAC}).Draw(t, "RNIC")
	versions := map[mpa.RNIC][]mpa.Version{
		mpa.NonPermissive: {mpa.VersionAny, mpa.VersionIETF},
		mpa.Permissive:    {mpa.VersionAny, mpa.VersionAny, mpa.VersionIETF, mpa.VersionRDMAC},
		mpa.RDMAC:         {mpa.VersionAny, mpa.VersionRDMAC},
	}
	c.Version = rapid.SampledFrom(versions[c.RNIC]).Draw(t, "version")
	markers := []mpa.Markers{mpa.MarkersAuto, mpa.MarkersOn, mpa.MarkersOff}
	if isOld(*c) {
		markers = markers[:2]
		if c.Enhanced == mpa.EnhancedRequired {
			c.Enhanced = mpa.EnhancedAuto
		}
	}
	c.Markers = rapid.SampledFrom(markers).Draw(t, "markers")
}

// isOld: the side has version 0 only. isNew: it has version 1 only. Others follow the peer.
func isOld(c mpa.Config) bool { return c.RNIC == mpa.RDMAC || c.Version == mpa.VersionRDMAC }
func isNew(c mpa.Config) bool { return c.RNIC == mpa.NonPermissive || c.Version == mpa.VersionIETF }

// sends is the kinds of RTR that an initiator can send. takes is those that a responder can take;
// without an IRD it takes no Read.
func sends(c mpa.Config) mpa.RTR {
	if c.RTR == 0 {
		return allRTR
	}
	return c.RTR
}

func takes(c mpa.Config) mpa.RTR {
	if c.IRD == 0 {
		return sends(c) &^ mpa.RTRRead
	}
	return sends(c)
}

// For any two Configs, either both sides have a connection and agree on it, or both know that there
// is none.
func TestSidesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		icfg := startupConfigs(false).Draw(t, "initiator")
		rcfg := startupConfigs(true).Draw(t, "responder")
		a, b := mpa.TimedPipe()
		defer a.Close()
		defer b.Close()
		h := shake(a, b, icfg, rcfg)
		if h.initiatorErr != nil {
			checkFailure(t, h, icfg, rcfg)
			return
		}
		if h.responderErr != nil {
			t.Fatalf("initiator has a connection, responder: %v", h.responderErr)
		}
		checkAgreement(t, h.initiator, h.responder, icfg, rcfg)
		checkReads(t, h.initiator, h.responder, icfg, rcfg)
	})
}

// checkFailure checks that there had to be a failure.
func checkFailure(t *rapid.T, h handshake, icfg, rcfg mpa.Config) {
	enhanced := icfg.Enhanced != mpa.EnhancedNever && !isOld(icfg)
	var started *mpa.StartupError
	var rejected *mpa.RejectError
	switch err := h.initiatorErr; {
	case errors.As(err, &rejected) && errors.Is(err, mpa.ErrRevision):
		if !errors.Is(h.responderErr, mpa.ErrRevision) || !isOld(icfg) || !isNew(rcfg) {
			t.Fatalf("initiator: %v, responder: %v", err, h.responderErr)
		}
	case errors.As(err, &rejected):
		if !errors.Is(h.responderErr, mpa.ErrInsufficientIRD) {
			t.Fatalf("initiator: %v, responder: %v", err, h.responderErr)
		}
		if icfg.ManualReads || icfg.IRD >= rcfg.RequiredORD || rejected.PeerORD != rcfg.RequiredORD {
			t.Fatalf("rejected with %+v", rejected)
		}
	case !errors.As(err, &started):
		t.Fatalf("initiator: %v", err)
	case errors.Is(err, mpa.ErrRevision):
		// The responder notices the close.
		if h.responderErr != nil || started.Terminate || !isNew(icfg) || !isOld(rcfg) {
			t.Fatalf("initiator: %#v, responder: %v", started, h.responderErr)
		}
	case errors.Is(err, mpa.ErrUnenhanced) && h.responderErr == nil:
		// Likewise.
		cannot := icfg.Enhanced == mpa.EnhancedRequired || icfg.PeerToPeer || icfg.ManualReads
		if started.Terminate || !enhanced || !cannot || isNew(icfg) || !isOld(rcfg) {
			t.Fatalf("initiator: %#v, responder: %v", started, h.responderErr)
		}
	case errors.Is(err, mpa.ErrUnenhanced):
		if !errors.Is(h.responderErr, mpa.ErrEnhanced) || !enhanced || rcfg.Enhanced != mpa.EnhancedNever {
			t.Fatalf("initiator: %v, responder: %v", err, h.responderErr)
		}
	case errors.Is(err, mpa.ErrNoMatchingRTR):
		// The responder notices the Terminate.
		if h.responderErr != nil || !started.Terminate || started.Code != mpa.CodeRTR {
			t.Fatalf("initiator: %#v, responder: %v", started, h.responderErr)
		}
		if started.CRC != h.responder.CRC || started.Markers != h.responder.MarkersIn {
			t.Fatalf("Terminate with CRC %t, markers %t to %+v", started.CRC, started.Markers, h.responder)
		}
		if !icfg.PeerToPeer || sends(icfg)&takes(rcfg) != 0 {
			t.Fatalf("%v and %v do match", sends(icfg), takes(rcfg))
		}
	default:
		t.Fatalf("initiator: %v, responder: %v", err, h.responderErr)
	}
}

func checkAgreement(t *rapid.T, i, r *mpa.Setup, icfg, rcfg mpa.Config) {
	if !i.Initiator || r.Initiator {
		t.Fatalf("initiator: %t and %t", i.Initiator, r.Initiator)
	}
	if i.Revision != r.Revision || i.Version != r.Version || i.Enhanced != r.Enhanced || i.PeerToPeer != r.PeerToPeer || i.CRC != r.CRC ||
		i.MarkersOut != r.MarkersIn || i.MarkersIn != r.MarkersOut || i.AnySend != r.AnySend {
		t.Fatalf("they differ:\n%+v\n%+v", i, r)
	}
	old := isOld(icfg) || isOld(rcfg)
	if old != (i.Version == 0) || (i.Revision == 0) != old || old && (isNew(icfg) || isNew(rcfg)) {
		t.Fatalf("version %d, revision %d", i.Version, i.Revision)
	}
	if i.Enhanced != (icfg.Enhanced != mpa.EnhancedNever && !old) || i.Enhanced != (i.Revision == 2) {
		t.Fatalf("enhanced %t, revision %d", i.Enhanced, i.Revision)
	}
	if i.CRC != (icfg.CRC || rcfg.CRC || old) || i.PeerToPeer != icfg.PeerToPeer ||
		i.MarkersIn != (icfg.Markers == mpa.MarkersOn || old) || r.MarkersIn != (rcfg.Markers == mpa.MarkersOn || old) {
		t.Fatalf("not what was asked for:\n%+v\n%+v", i, r)
	}
	if i.PeerToPeer {
		if bits.OnesCount8(uint8(i.RTR)) != 1 || i.RTR&r.RTR == 0 || i.RTR&sends(icfg) == 0 || r.RTR&^takes(rcfg) != 0 {
			t.Fatalf("RTR: %v is sent, %v may come", i.RTR, r.RTR)
		}
		if i.RTR == mpa.RTRRead && r.IRD == 0 {
			t.Fatal("RTR by Read without an IRD")
		}
		if r.AnySend && (!rcfg.Draft05 || sends(icfg)&takes(rcfg) != 0 || r.RTR != mpa.RTRSend) {
			t.Fatalf("any Send, though the kinds are %v and %v", sends(icfg), takes(rcfg))
		}
		if rcfg.OneRTR && bits.OnesCount8(uint8(r.RTR)) != 1 {
			t.Fatalf("RTR: %v may come, want one", r.RTR)
		}
	} else if i.RTR != 0 || r.RTR != 0 || i.AnySend {
		t.Fatalf("RTR: %v and %v, any Send %t", i.RTR, r.RTR, i.AnySend)
	}
	if string(i.PrivateData) != "responder" || string(r.PrivateData) != "initiator" {
		t.Fatalf("private data: %q and %q", i.PrivateData, r.PrivateData)
	}
}

func checkReads(t *rapid.T, i, r *mpa.Setup, icfg, rcfg mpa.Config) {
	ird := rcfg.IRD
	if manual := icfg.ManualReads || rcfg.ManualReads; rcfg.Draft05 && i.Enhanced && !manual && ird > icfg.ORD {
		ird = icfg.ORD
		if ird == 0 && r.RTR&mpa.RTRRead != 0 {
			ird = 1
		}
	}
	if i.IRD != icfg.IRD || r.IRD != ird || i.ORD > icfg.ORD || r.ORD > rcfg.ORD {
		t.Fatalf("reads: %d, %d and %d, %d", i.IRD, i.ORD, r.IRD, r.ORD)
	}
	if !i.Enhanced {
		if i.ORD > mpa.UnenhancedORD || r.ORD > mpa.UnenhancedORD || i.PeerIRD != -1 || i.PeerORD != -1 || r.PeerIRD != -1 || r.PeerORD != -1 {
			t.Fatalf("unenhanced:\n%+v\n%+v", i, r)
		}
		return
	}
	if icfg.ManualReads || rcfg.ManualReads {
		if i.ORD != icfg.ORD || r.ORD != rcfg.ORD || i.PeerIRD != mpa.ReadsManual || i.PeerORD != mpa.ReadsManual {
			t.Fatalf("manual reads:\n%+v\n%+v", i, r)
		}
		return
	}
	// RFC 6581 section 9.1.
	if i.ORD > r.IRD || r.ORD > i.IRD {
		t.Fatalf("initiator ORD %d, responder IRD %d; responder ORD %d, initiator IRD %d", i.ORD, r.IRD, r.ORD, i.IRD)
	}
	if i.PeerIRD != r.IRD || i.PeerORD != r.ORD || r.PeerIRD != icfg.IRD || r.PeerORD != icfg.ORD || r.ORD < rcfg.RequiredORD {
		t.Fatalf("what was said:\n%+v\n%+v", i, r)
	}
}
