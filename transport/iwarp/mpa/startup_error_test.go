package mpa_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// The properties of a Terminate for a responder that has accepted although no connection is
// possible: markers if the responder wants them, CRC if either side does, and the responder's IRD
// and ORD.
func TestStartupErrorOfAccepted(t *testing.T) {
	plain := mpa.Config{IRD: 16, ORD: 16}
	markers := mpa.Config{IRD: 16, ORD: 16, Markers: mpa.MarkersOn}
	crc := mpa.Config{IRD: 16, ORD: 16, CRC: true}
	for _, tt := range []struct {
		name, reply string
		cfg         mpa.Config
		want        mpa.StartupError
	}{
		{"plain", "10 02 0004 00080011", plain, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, PeerIRD: 8, PeerORD: 17}},
		{"the responder's markers", "90 02 0004 00080011", plain, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"our markers", "10 02 0004 00080011", markers, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, PeerIRD: 8, PeerORD: 17}},
		{"both", "90 02 0004 00080011", markers, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"the responder's CRC", "50 02 0004 00080011", plain, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, CRC: true, PeerIRD: 8, PeerORD: 17}},
		{"our CRC", "10 02 0004 00080011", crc, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, CRC: true, PeerIRD: 8, PeerORD: 17}},
		{"all", "d0 02 0004 00080011", plain, mpa.StartupError{Code: mpa.CodeIRD, Terminate: true, CRC: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"another model", "90 02 0004 80088004", plain, mpa.StartupError{Code: mpa.CodeRTR, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 4}},
		{"no matching RTR", "90 02 0004 c0080004", mpa.Config{IRD: 16, PeerToPeer: true, RTR: mpa.RTRWrite},
			mpa.StartupError{Code: mpa.CodeRTR, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 4}},
		{"unenhanced", "80 01 0000", plain, mpa.StartupError{Code: mpa.CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
		{"no enhanced data", "90 02 0002 0000", plain, mpa.StartupError{Code: mpa.CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
		{"too much private data", "90 02 0201", plain, mpa.StartupError{Code: mpa.CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := initiateTo(t, tt.cfg, nil, repFrame(t, tt.reply))
			var got *mpa.StartupError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a StartupError", err)
			}
			if diff := cmp.Diff(&tt.want, got, cmpopts.IgnoreFields(mpa.StartupError{}, "Err")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
