package mpa

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What a Terminate would have to be like, where the responder has accepted and there is no connection for all that: markers if the responder
// wants them, CRC if either side does, and what the responder has said of reads.
func TestStartupErrorOfAccepted(t *testing.T) {
	plain := Config{IRD: 16, ORD: 16}
	markers := Config{IRD: 16, ORD: 16, Markers: MarkersOn}
	crc := Config{IRD: 16, ORD: 16, CRC: true}
	for _, tt := range []struct {
		name, reply string
		cfg         Config
		want        StartupError
	}{
		{"plain", "10 02 0004 00080011", plain, StartupError{Code: CodeIRD, Terminate: true, PeerIRD: 8, PeerORD: 17}},
		{"the responder's markers", "90 02 0004 00080011", plain, StartupError{Code: CodeIRD, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"our markers", "10 02 0004 00080011", markers, StartupError{Code: CodeIRD, Terminate: true, PeerIRD: 8, PeerORD: 17}},
		{"both", "90 02 0004 00080011", markers, StartupError{Code: CodeIRD, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"the responder's CRC", "50 02 0004 00080011", plain, StartupError{Code: CodeIRD, Terminate: true, CRC: true, PeerIRD: 8, PeerORD: 17}},
		{"our CRC", "10 02 0004 00080011", crc, StartupError{Code: CodeIRD, Terminate: true, CRC: true, PeerIRD: 8, PeerORD: 17}},
		{"all", "d0 02 0004 00080011", plain, StartupError{Code: CodeIRD, Terminate: true, CRC: true, Markers: true, PeerIRD: 8, PeerORD: 17}},
		{"another model", "90 02 0004 80088004", plain, StartupError{Code: CodeRTR, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 4}},
		{"no matching RTR", "90 02 0004 c0080004", Config{IRD: 16, PeerToPeer: true, RTR: RTRWrite},
			StartupError{Code: CodeRTR, Terminate: true, Markers: true, PeerIRD: 8, PeerORD: 4}},
		{"unenhanced", "80 01 0000", plain, StartupError{Code: CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
		{"no enhanced data", "90 02 0002 0000", plain, StartupError{Code: CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
		{"too much private data", "90 02 0201", plain, StartupError{Code: CodeFrame, Terminate: true, Markers: true, PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := initiateTo(t, tt.cfg, nil, repFrame(t, tt.reply))
			var got *StartupError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a StartupError", err)
			}
			if diff := cmp.Diff(&tt.want, got, cmpopts.IgnoreFields(StartupError{}, "Err")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
