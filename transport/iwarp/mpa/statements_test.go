package mpa_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// These tests prove statements that docs/conformance.md lists by number, unless another test covers
// them.

// Any responder, for any offer of an initiator: 6581-9.2-6 to 6581-9.2-12, 6581-9.2-17 to
// 6581-9.2-19, draft05-9-10 to draft05-9-14.
func TestEveryReplyFlag(t *testing.T) {
	type offer struct {
		a   bool
		rtr mpa.RTR
	}
	var offers []offer
	for rtr := range allRTR + 1 {
		offers = append(offers, offer{true, rtr}, offer{false, rtr})
	}
	for set := range allRTR + 1 {
		for _, ird := range []int{0, 1} {
			supported := set
			if set == 0 {
				supported = allRTR
			}
			if ird == 0 {
				supported &^= mpa.RTRRead // it would use up one of the IRD
			}
			for variant := range 4 {
				cfg := mpa.Config{IRD: ird, ORD: 1, RTR: set, OneRTR: variant&1 != 0, Draft05: variant&2 != 0}
				if err := cfg.ValidateResponder(); errors.Is(err, mpa.ErrConfig) != (supported == 0) {
					t.Errorf("RTR %v, IRD %d: got error %v with support for %v", set, ird, err, supported)
				}
				if supported == 0 {
					continue
				}
				for _, o := range offers {
					name := fmt.Sprintf("RTR %v, IRD %d, one %t, draft-05 %t, A %t, offered %v", set, ird, cfg.OneRTR, cfg.Draft05, o.a, o.rtr)
					t.Run(name, func(t *testing.T) { checkReplyFlags(t, cfg, supported, o.a, o.rtr) })
				}
			}
		}
	}
}

func checkReplyFlags(t *testing.T, cfg mpa.Config, supported mpa.RTR, a bool, offered mpa.RTR) {
	// With an ORD of 0, only an RTR by Read needs an IRD.
	request := mpa.EnhancedData{PeerToPeer: a, RTR: offered, IRD: 1}
	said, s, err := acceptFrom(t, append(reqFrame(t, "10 02 0004"), request.Append(nil)...), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := mpa.ParseFrame(said)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := mpa.ParseEnhancedData(f.PrivateData)
	if err != nil {
		t.Fatal(err)
	}
	if got.PeerToPeer != a || s.PeerToPeer != a {
		t.Errorf("got A %t in the reply and %t in the setup, want %t", got.PeerToPeer, s.PeerToPeer, a)
	}
	if got.RTR&mpa.RTRRead != 0 && got.IRD == 0 {
		t.Error("the reply names Read, with an IRD of 0")
	}
	want := offered & supported
	none := a && want == 0 && cfg.Draft05 && supported&mpa.RTRSend != 0
	if s.RTR != got.RTR && !none {
		t.Errorf("the reply names %v, what may come is %v", got.RTR, s.RTR)
	}
	if want == 0 {
		want = supported
	}
	switch {
	case !a:
		if got.RTR != 0 {
			t.Errorf("got %v without A", got.RTR)
		}
	case none: // draft-ietf-storm-mpa-peer-connect-05 section 9
		if got.RTR != 0 || s.RTR != mpa.RTRSend {
			t.Errorf("got %v in the reply and %v in the setup, want none and send", got.RTR, s.RTR)
		}
	case cfg.OneRTR:
		if got.RTR == 0 || got.RTR&(got.RTR-1) != 0 || got.RTR&^want != 0 {
			t.Errorf("got %v, want one of %v", got.RTR, want)
		}
	case got.RTR != want:
		t.Errorf("got %v, want %v", got.RTR, want)
	}
}

// The flags of a request are the kinds that the initiator can send; in the client-server model,
// none: 6581-9.2-4, 6581-9.2-5, 6581-9.2-16, 6581-9.2-18.
func TestEveryRequestFlag(t *testing.T) {
	for set := range allRTR + 1 {
		for _, p2p := range []bool{false, true} {
			cfg := mpa.Config{IRD: 1, ORD: 1, RTR: set, PeerToPeer: p2p}
			said, _, _ := initiateTo(t, cfg, nil, nil)
			f, _, err := mpa.ParseFrame(said)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := mpa.ParseEnhancedData(f.PrivateData)
			if err != nil {
				t.Fatal(err)
			}
			want := mpa.EnhancedData{PeerToPeer: p2p, IRD: 1, ORD: 1}
			if want.RTR = set; set == 0 {
				want.RTR = allRTR
			}
			if !p2p {
				want.RTR = 0
			}
			if got != want {
				t.Errorf("RTR %v, peer-to-peer %t: got %+v, want %+v", set, p2p, got, want)
			}
		}
	}
}

// A responder with any version accepts a request of revision 1, and replies without enhanced data,
// whatever else it wants: 6581-6-7, 6581-10-3, 6581-10-5, 6581-10-8.
func TestRevisionOneAccepted(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  mpa.Config
		bits string // of the reply
	}{
		{"zero", mpa.Config{}, "00"},
		{"enhanced required", mpa.Config{Enhanced: mpa.EnhancedRequired}, "00"},
		{"enhanced never", mpa.Config{Enhanced: mpa.EnhancedNever}, "00"},
		{"peer-to-peer", mpa.Config{PeerToPeer: true}, "00"},
		{"manual reads", mpa.Config{ManualReads: true}, "00"},
		{"required ORD", mpa.Config{ORD: 8, RequiredORD: 8}, "00"},
		{"one RTR", mpa.Config{OneRTR: true}, "00"},
		{"draft-05", mpa.Config{Draft05: true}, "00"},
		{"permissive", mpa.Config{RNIC: mpa.Permissive}, "00"},
		{"permissive, version 1", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF}, "00"},
		{"markers", mpa.Config{Markers: mpa.MarkersOn}, "80"},
		{"CRC", mpa.Config{CRC: true}, "40"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, "00 01 0000"), tt.cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := repFrame(t, tt.bits+" 01 0000"); string(said) != string(want) {
				t.Errorf("got reply %x, want %x", said, want)
			}
			if s.Enhanced || s.Revision != 1 || s.Version != 1 || s.PeerToPeer {
				t.Errorf("got setup %+v, want an unenhanced one of revision 1", s)
			}
		})
	}
}

// An unenhanced side ignores all reserved bits, even the later S: 6581-6-3, draft05-6-1.
func TestUnenhancedReserved(t *testing.T) {
	never := mpa.Config{Enhanced: mpa.EnhancedNever}
	for bit := range 5 {
		bits := fmt.Sprintf("%02x", 1<<bit)
		t.Run("request "+bits, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, bits+"01 0002 6162"), never, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := repFrame(t, "00 01 0000"); string(said) != string(want) || string(s.PrivateData) != "ab" {
				t.Errorf("got reply %x, private data %q", said, s.PrivateData)
			}
		})
		t.Run("reply "+bits, func(t *testing.T) {
			_, s, err := initiateTo(t, never, nil, repFrame(t, bits+"01 0002 6162"))
			if err != nil {
				t.Fatal(err)
			}
			if string(s.PrivateData) != "ab" || s.Enhanced {
				t.Errorf("got setup %+v", s)
			}
		})
	}
}
