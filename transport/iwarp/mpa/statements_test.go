package mpa

import (
	"errors"
	"fmt"
	"testing"
)

// These tests show statements that docs/conformance.md lists, by their numbers there, where no table of another test has them.

// A responder, however it is set, and whatever an initiator offers: 6581-9.2-6 to 6581-9.2-12, 6581-9.2-17 to 6581-9.2-19,
// draft05-9-10 to draft05-9-14.
func TestEveryReplyFlag(t *testing.T) {
	type offer struct {
		a   bool
		rtr RTR
	}
	var offers []offer
	for rtr := range rtrAll + 1 {
		offers = append(offers, offer{true, rtr}, offer{false, rtr})
	}
	for set := range rtrAll + 1 {
		for _, ird := range []int{0, 1} {
			supported := set
			if set == 0 {
				supported = rtrAll
			}
			if ird == 0 {
				supported &^= RTRRead // it would take the place of a Read
			}
			for variant := range 4 {
				cfg := Config{IRD: ird, ORD: 1, RTR: set, OneRTR: variant&1 != 0, Draft05: variant&2 != 0}
				if err := cfg.ValidateResponder(); errors.Is(err, ErrConfig) != (supported == 0) {
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

func checkReplyFlags(t *testing.T, cfg Config, supported RTR, a bool, offered RTR) {
	request := EnhancedData{PeerToPeer: a, RTR: offered, IRD: 1} // with an ORD of 0 only an RTR by Read needs an IRD
	said, s, err := acceptFrom(t, append(reqFrame(t, "10 02 0004"), request.Append(nil)...), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := ParseFrame(said)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := ParseEnhancedData(f.PrivateData)
	if err != nil {
		t.Fatal(err)
	}
	if got.PeerToPeer != a || s.PeerToPeer != a {
		t.Errorf("got A %t in the reply and %t in the setup, want %t", got.PeerToPeer, s.PeerToPeer, a)
	}
	if got.RTR&RTRRead != 0 && got.IRD == 0 {
		t.Error("the reply names Read, with an IRD of 0")
	}
	want := offered & supported
	none := a && want == 0 && cfg.Draft05 && supported&RTRSend != 0
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
		if got.RTR != 0 || s.RTR != RTRSend {
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

// The flags of a request are those of what the initiator can send, and none in the client-server model: 6581-9.2-4, 6581-9.2-5, 6581-9.2-16, 6581-9.2-18.
func TestEveryRequestFlag(t *testing.T) {
	for set := range rtrAll + 1 {
		for _, p2p := range []bool{false, true} {
			cfg := Config{IRD: 1, ORD: 1, RTR: set, PeerToPeer: p2p}
			said, _, _ := initiateTo(t, cfg, nil, nil)
			f, _, err := ParseFrame(said)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := ParseEnhancedData(f.PrivateData)
			if err != nil {
				t.Fatal(err)
			}
			want := EnhancedData{PeerToPeer: p2p, IRD: 1, ORD: 1}
			if want.RTR = set; set == 0 {
				want.RTR = rtrAll
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

// Whichever version the responder has or prefers, and whatever else it wants, a request of revision 1 is accepted, without enhanced data: 6581-6-7,
// 6581-10-3, 6581-10-5, 6581-10-8.
func TestRevisionOneAccepted(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		bits string // of the reply
	}{
		{"zero", Config{}, "00"},
		{"enhanced required", Config{Enhanced: EnhancedRequired}, "00"},
		{"enhanced never", Config{Enhanced: EnhancedNever}, "00"},
		{"peer-to-peer", Config{PeerToPeer: true}, "00"},
		{"manual reads", Config{ManualReads: true}, "00"},
		{"required ORD", Config{ORD: 8, RequiredORD: 8}, "00"},
		{"one RTR", Config{OneRTR: true}, "00"},
		{"draft-05", Config{Draft05: true}, "00"},
		{"permissive", Config{RNIC: Permissive}, "00"},
		{"permissive, version 1", Config{RNIC: Permissive, Version: VersionIETF}, "00"},
		{"markers", Config{Markers: MarkersOn}, "80"},
		{"CRC", Config{CRC: true}, "40"},
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

// An unenhanced side looks at no reserved bit, be it the later S: 6581-6-3, draft05-6-1.
func TestUnenhancedReserved(t *testing.T) {
	never := Config{Enhanced: EnhancedNever}
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
