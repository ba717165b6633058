package mpa

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What each kind of RNIC is, whatever version and markers it is set to: Figure 1 of draft-carrier-rddp-rnic-interop-00.
func TestCapabilities(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Config
		want Capabilities
	}{
		{"non-permissive", Config{}, Capabilities{Version: 1}},
		{"non-permissive, markers", Config{Markers: MarkersOn}, Capabilities{Markers: true, Version: 1}},
		{"non-permissive, no markers", Config{Markers: MarkersOff}, Capabilities{Version: 1}},
		{"non-permissive, version 1", Config{Version: VersionIETF}, Capabilities{Version: 1}},
		{"permissive", Config{RNIC: Permissive}, Capabilities{Version: 1, Selectable: true}},
		{"permissive, markers", Config{RNIC: Permissive, Markers: MarkersOn}, Capabilities{Markers: true, Version: 1, Selectable: true}},
		{"permissive, no markers", Config{RNIC: Permissive, Markers: MarkersOff}, Capabilities{Version: 1, Selectable: true}},
		{"permissive, version 1", Config{RNIC: Permissive, Version: VersionIETF}, Capabilities{Version: 1, Selectable: true}},
		{"permissive, version 0", Config{RNIC: Permissive, Version: VersionRDMAC}, Capabilities{Markers: true, Version: 0, Selectable: true}},
		{"RDMAC", Config{RNIC: RDMAC}, Capabilities{Markers: true, Version: 0}},
		{"RDMAC, version 0", Config{RNIC: RDMAC, Version: VersionRDMAC}, Capabilities{Markers: true, Version: 0}},
		{"RDMAC, markers", Config{RNIC: RDMAC, Markers: MarkersOn}, Capabilities{Markers: true, Version: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.in.validate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.in.Capabilities()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a kind of RNIC does not have: the errors of draft-carrier-rddp-rnic-interop-00 sections 6.2.3 and 6.2.6.
func TestValidateRNIC(t *testing.T) {
	others := map[error][]error{
		ErrConfig:        {ErrVersion, ErrMarkersNeeded},
		ErrVersion:       {ErrMarkersNeeded},
		ErrMarkersNeeded: {ErrVersion},
	}
	for _, tt := range []struct {
		name     string
		in       Config
		want     error
		dialOnly bool // a responder goes by the request
	}{
		{"non-permissive, version 0", Config{Version: VersionRDMAC}, ErrVersion, false},
		{"RDMAC, version 1", Config{RNIC: RDMAC, Version: VersionIETF}, ErrVersion, false},
		{"RDMAC, no markers", Config{RNIC: RDMAC, Markers: MarkersOff}, ErrMarkersNeeded, false},
		{"permissive, version 0, no markers", Config{RNIC: Permissive, Version: VersionRDMAC, Markers: MarkersOff}, ErrMarkersNeeded, false},
		{"RDMAC, enhanced required", Config{RNIC: RDMAC, Enhanced: EnhancedRequired}, ErrConfig, true},
		{"permissive, version 0, enhanced required", Config{RNIC: Permissive, Version: VersionRDMAC, Enhanced: EnhancedRequired}, ErrConfig, true},
		{"RDMAC, peer-to-peer", Config{RNIC: RDMAC, PeerToPeer: true}, ErrConfig, true},
		{"RDMAC, manual reads", Config{RNIC: RDMAC, ManualReads: true}, ErrConfig, true},
		{"permissive, version 0, peer-to-peer", Config{RNIC: Permissive, Version: VersionRDMAC, PeerToPeer: true}, ErrConfig, true},
		{"unknown kind", Config{RNIC: RDMAC + 1}, ErrConfig, false},
		{"unknown version", Config{RNIC: Permissive, Version: VersionIETF + 1}, ErrConfig, false},
		{"unknown markers", Config{Markers: MarkersOff + 1}, ErrConfig, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := []error{tt.in.ValidateInitiator(nil)}
			if err := tt.in.ValidateResponder(); !tt.dialOnly {
				errs = append(errs, err)
			} else if err != nil {
				t.Errorf("as responder: got %v, want none", err)
			}
			for _, err := range errs {
				if !errors.Is(err, tt.want) || !errors.Is(err, ErrConfig) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				for _, not := range others[tt.want] {
					if errors.Is(err, not) {
						t.Errorf("got %v, which is %v, too", err, not)
					}
				}
			}
		})
	}
	for _, ok := range []Config{
		{RNIC: RDMAC, Version: VersionRDMAC, Markers: MarkersOn, CRC: true},
		{RNIC: RDMAC, Enhanced: EnhancedNever},
		{RNIC: Permissive, Version: VersionIETF, Markers: MarkersOff, PeerToPeer: true, ManualReads: true, Enhanced: EnhancedRequired},
		{RNIC: Permissive, Version: VersionRDMAC, Markers: MarkersOn, Enhanced: EnhancedNever},
	} {
		if err := ok.ValidateInitiator(nil); err != nil {
			t.Errorf("%+v: got %v, want none", ok, err)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range []struct {
		in   fmt.Stringer
		want string
	}{
		{NonPermissive, "non-permissive"}, {Permissive, "permissive"}, {RDMAC, "RDMAC"}, {RNIC(9), "RNIC 9"},
		{VersionAny, "any"}, {VersionRDMAC, "0 (RDMAC)"}, {VersionIETF, "1 (IETF)"}, {Version(3), "version 3"},
		{MarkersAuto, "auto"}, {MarkersOn, "on"}, {MarkersOff, "off"}, {Markers(3), "markers 3"},
		{EnhancedAuto, "auto"}, {EnhancedRequired, "required"}, {EnhancedNever, "never"}, {Enhanced(3), "enhanced 3"},
	} {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
