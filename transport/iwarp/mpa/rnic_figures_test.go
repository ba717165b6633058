package mpa_test

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// recorder records what is written.
type recorder struct {
	net.Conn
	said bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.said.Write(p)
	return r.Conn.Write(p)
}

// Every cell of Figures 2, 3 and 4 of draft-carrier-rddp-rnic-interop-00, and the rest of the
// matrix: kinds of RNIC and their wishes for markers, as initiator and as responder. In a cell, V
// is the version. The digits after M are the markers in what the initiator and the responder
// receive.
func TestFigures(t *testing.T) {
	side := func(r mpa.RNIC, m mpa.Markers) mpa.Config {
		return mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedNever, RNIC: r, Markers: m}
	}
	kinds := map[string]mpa.Config{
		"RDMAC":               side(mpa.RDMAC, mpa.MarkersAuto),
		"non-permissive, M=0": side(mpa.NonPermissive, mpa.MarkersAuto),
		"non-permissive, M=1": side(mpa.NonPermissive, mpa.MarkersOn),
		"permissive, M=0":     side(mpa.Permissive, mpa.MarkersAuto),
		"permissive, M=1":     side(mpa.Permissive, mpa.MarkersOn),
	}
	const refused = "refused" // by the responder, in a reply
	const closed = "closed"   // by the initiator, after a reply
	for _, tt := range []struct{ initiator, responder, request, reply, want string }{
		// Figure 2, and the rows that it shares with the others.
		{"RDMAC", "RDMAC", "c0 00", "c0 00", "V=0 M=1/1"},
		{"RDMAC", "non-permissive, M=0", "c0 00", "60 01", refused},
		{"RDMAC", "non-permissive, M=1", "c0 00", "e0 01", refused},
		{"non-permissive, M=0", "RDMAC", "00 01", "c0 00", closed},
		{"non-permissive, M=0", "non-permissive, M=0", "00 01", "00 01", "V=1 M=0/0"},
		{"non-permissive, M=0", "non-permissive, M=1", "00 01", "80 01", "V=1 M=0/1"},
		{"non-permissive, M=1", "RDMAC", "80 01", "c0 00", closed},
		{"non-permissive, M=1", "non-permissive, M=0", "80 01", "00 01", "V=1 M=1/0"},
		{"non-permissive, M=1", "non-permissive, M=1", "80 01", "80 01", "V=1 M=1/1"},

		// Figure 3. No reply to an RDMAC RNIC has M=0.
		{"RDMAC", "permissive, M=0", "c0 00", "c0 00", "V=0 M=1/1"},
		{"RDMAC", "permissive, M=1", "c0 00", "c0 00", "V=0 M=1/1"},
		{"permissive, M=0", "RDMAC", "00 01", "c0 00", "V=0 M=1/1"},
		{"permissive, M=0", "permissive, M=0", "00 01", "00 01", "V=1 M=0/0"},
		{"permissive, M=0", "permissive, M=1", "00 01", "80 01", "V=1 M=0/1"},
		{"permissive, M=1", "RDMAC", "80 01", "c0 00", "V=0 M=1/1"},
		{"permissive, M=1", "permissive, M=0", "80 01", "00 01", "V=1 M=1/0"},
		{"permissive, M=1", "permissive, M=1", "80 01", "80 01", "V=1 M=1/1"},

		// Figure 4.
		{"non-permissive, M=0", "permissive, M=0", "00 01", "00 01", "V=1 M=0/0"},
		{"non-permissive, M=0", "permissive, M=1", "00 01", "80 01", "V=1 M=0/1"},
		{"non-permissive, M=1", "permissive, M=0", "80 01", "00 01", "V=1 M=1/0"},
		{"non-permissive, M=1", "permissive, M=1", "80 01", "80 01", "V=1 M=1/1"},
		{"permissive, M=0", "non-permissive, M=0", "00 01", "00 01", "V=1 M=0/0"},
		{"permissive, M=0", "non-permissive, M=1", "00 01", "80 01", "V=1 M=0/1"},
		{"permissive, M=1", "non-permissive, M=0", "80 01", "00 01", "V=1 M=1/0"},
		{"permissive, M=1", "non-permissive, M=1", "80 01", "80 01", "V=1 M=1/1"},
	} {
		t.Run(tt.initiator+" to "+tt.responder, func(t *testing.T) {
			for _, selected := range []bool{false, true} { // the version 0 that an RDMAC RNIC uses
				i, r := kinds[tt.initiator], kinds[tt.responder]
				if selected {
					i = asRDMAC(i)
					r = asRDMAC(r)
				}
				pipeA, pipeB := mpa.TimedPipe()
				a, b := &recorder{Conn: pipeA}, &recorder{Conn: pipeB}
				got := shake(a, b, i, r)
				a.Close()
				b.Close()
				if diff := cmp.Diff(append(reqFrame(t, tt.request+"0009"), "initiator"...), a.said.Bytes()); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
				reply := append(repFrame(t, tt.reply+"0009"), "responder"...)
				if tt.want == refused {
					reply = repFrame(t, tt.reply+"0000")
				}
				if diff := cmp.Diff(reply, b.said.Bytes()); diff != "" {
					t.Errorf("reply (-want +got):\n%s", diff)
				}
				switch tt.want {
				case refused:
					var rejected *mpa.RejectError
					if !errors.As(got.initiatorErr, &rejected) || !errors.Is(got.initiatorErr, mpa.ErrRevision) {
						t.Errorf("initiator: got %v, want a RejectError with %v", got.initiatorErr, mpa.ErrRevision)
					}
					failure{mpa.ErrRevision, mpa.CodeFrame, false}.check(t, got.responderErr)
				case closed:
					failure{mpa.ErrRevision, mpa.CodeFrame, false}.check(t, got.initiatorErr)
					checkFigure(t, "responder", "V=0 M=1/1", got.responder)
				default:
					checkFigure(t, "initiator", tt.want, got.initiator)
					checkFigure(t, "responder", tt.want, got.responder)
				}
			}
		})
	}
}

// asRDMAC is a permissive RNIC set to version 0, instead of an RDMAC RNIC.
func asRDMAC(c mpa.Config) mpa.Config {
	if c.RNIC == mpa.RDMAC {
		c.RNIC, c.Version = mpa.Permissive, mpa.VersionRDMAC
	}
	return c
}

// checkFigure checks a setup against a cell.
func checkFigure(t *testing.T, name, cell string, got *mpa.Setup) {
	t.Helper()
	if got == nil {
		t.Errorf("%s: got no setup", name)
		return
	}
	version := int(cell[2] - '0')
	want := mpa.Setup{
		Setup:    ddp.Setup{Version: version, IRD: 16, ORD: 8, PrivateData: []byte("initiator")},
		Revision: version, CRC: version == 0, MarkersIn: cell[8] == '1', MarkersOut: cell[6] == '1', PeerIRD: -1, PeerORD: -1,
	}
	if name == "initiator" {
		want.Initiator, want.PrivateData = true, []byte("responder")
		want.MarkersIn, want.MarkersOut = want.MarkersOut, want.MarkersIn
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
