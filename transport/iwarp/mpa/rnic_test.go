package mpa_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// The capabilities of each kind of RNIC, for any version and markers: Figure 1 of
// draft-carrier-rddp-rnic-interop-00.
func TestCapabilities(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   mpa.Config
		want mpa.Capabilities
	}{
		{"non-permissive", mpa.Config{}, mpa.Capabilities{Version: 1}},
		{"non-permissive, markers", mpa.Config{Markers: mpa.MarkersOn}, mpa.Capabilities{Markers: true, Version: 1}},
		{"non-permissive, no markers", mpa.Config{Markers: mpa.MarkersOff}, mpa.Capabilities{Version: 1}},
		{"non-permissive, version 1", mpa.Config{Version: mpa.VersionIETF}, mpa.Capabilities{Version: 1}},
		{"permissive", mpa.Config{RNIC: mpa.Permissive}, mpa.Capabilities{Version: 1, Selectable: true}},
		{"permissive, markers", mpa.Config{RNIC: mpa.Permissive, Markers: mpa.MarkersOn}, mpa.Capabilities{Markers: true, Version: 1, Selectable: true}},
		{"permissive, no markers", mpa.Config{RNIC: mpa.Permissive, Markers: mpa.MarkersOff}, mpa.Capabilities{Version: 1, Selectable: true}},
		{"permissive, version 1", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF}, mpa.Capabilities{Version: 1, Selectable: true}},
		{"permissive, version 0", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, mpa.Capabilities{Markers: true, Version: 0, Selectable: true}},
		{"RDMAC", mpa.Config{RNIC: mpa.RDMAC}, mpa.Capabilities{Markers: true, Version: 0}},
		{"RDMAC, version 0", mpa.Config{RNIC: mpa.RDMAC, Version: mpa.VersionRDMAC}, mpa.Capabilities{Markers: true, Version: 0}},
		{"RDMAC, markers", mpa.Config{RNIC: mpa.RDMAC, Markers: mpa.MarkersOn}, mpa.Capabilities{Markers: true, Version: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.in.ValidateInitiator(nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.in.Capabilities()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a kind of RNIC does not have is an error (draft-carrier-rddp-rnic-interop-00 sections 6.2.3
// and 6.2.6).
func TestValidateRNIC(t *testing.T) {
	others := map[error][]error{
		mpa.ErrConfig:        {mpa.ErrVersion, mpa.ErrMarkersNeeded},
		mpa.ErrVersion:       {mpa.ErrMarkersNeeded},
		mpa.ErrMarkersNeeded: {mpa.ErrVersion},
	}
	for _, tt := range []struct {
		name     string
		in       mpa.Config
		want     error
		dialOnly bool // a responder follows the request
	}{
		{"non-permissive, version 0", mpa.Config{Version: mpa.VersionRDMAC}, mpa.ErrVersion, false},
		{"RDMAC, version 1", mpa.Config{RNIC: mpa.RDMAC, Version: mpa.VersionIETF}, mpa.ErrVersion, false},
		{"RDMAC, no markers", mpa.Config{RNIC: mpa.RDMAC, Markers: mpa.MarkersOff}, mpa.ErrMarkersNeeded, false},
		{"permissive, version 0, no markers", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, Markers: mpa.MarkersOff}, mpa.ErrMarkersNeeded, false},
		{"RDMAC, enhanced required", mpa.Config{RNIC: mpa.RDMAC, Enhanced: mpa.EnhancedRequired}, mpa.ErrConfig, true},
		{"permissive, version 0, enhanced required", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, Enhanced: mpa.EnhancedRequired}, mpa.ErrConfig, true},
		{"RDMAC, peer-to-peer", mpa.Config{RNIC: mpa.RDMAC, PeerToPeer: true}, mpa.ErrConfig, true},
		{"RDMAC, manual reads", mpa.Config{RNIC: mpa.RDMAC, ManualReads: true}, mpa.ErrConfig, true},
		{"permissive, version 0, peer-to-peer", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, PeerToPeer: true}, mpa.ErrConfig, true},
		{"unknown kind", mpa.Config{RNIC: mpa.RDMAC + 1}, mpa.ErrConfig, false},
		{"unknown version", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF + 1}, mpa.ErrConfig, false},
		{"unknown markers", mpa.Config{Markers: mpa.MarkersOff + 1}, mpa.ErrConfig, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := []error{tt.in.ValidateInitiator(nil)}
			if err := tt.in.ValidateResponder(); !tt.dialOnly {
				errs = append(errs, err)
			} else if err != nil {
				t.Errorf("as responder: got %v, want none", err)
			}
			for _, err := range errs {
				if !errors.Is(err, tt.want) || !errors.Is(err, mpa.ErrConfig) {
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
	for _, ok := range []mpa.Config{
		{RNIC: mpa.RDMAC, Version: mpa.VersionRDMAC, Markers: mpa.MarkersOn, CRC: true},
		{RNIC: mpa.RDMAC, Enhanced: mpa.EnhancedNever},
		{RNIC: mpa.Permissive, Version: mpa.VersionIETF, Markers: mpa.MarkersOff, PeerToPeer: true, ManualReads: true, Enhanced: mpa.EnhancedRequired},
		{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, Markers: mpa.MarkersOn, Enhanced: mpa.EnhancedNever},
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
		{mpa.NonPermissive, "non-permissive"}, {mpa.Permissive, "permissive"}, {mpa.RDMAC, "RDMAC"}, {mpa.RNIC(9), "RNIC 9"},
		{mpa.VersionAny, "any"}, {mpa.VersionRDMAC, "0 (RDMAC)"}, {mpa.VersionIETF, "1 (IETF)"}, {mpa.Version(3), "version 3"},
		{mpa.MarkersAuto, "auto"}, {mpa.MarkersOn, "on"}, {mpa.MarkersOff, "off"}, {mpa.Markers(3), "markers 3"},
		{mpa.EnhancedAuto, "auto"}, {mpa.EnhancedRequired, "required"}, {mpa.EnhancedNever, "never"}, {mpa.Enhanced(3), "enhanced 3"},
	} {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
