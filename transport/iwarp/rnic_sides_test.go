package iwarp_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestRNICFigure1 checks the parameters of each kind of RNIC in Figure 1 of
// draft-carrier-rddp-rnic-interop-00: in Capabilities, in our dialer's requests, and in our
// listener's replies. MPA revision 1 of the figure is 2 with RFC 6581.
func TestRNICFigure1(t *testing.T) {
	for _, row := range []struct {
		name         string
		cfg          iwarp.Config
		capabilities mpa.Capabilities
		request      []byte
		replies      map[byte][]byte // to requests of a revision, with markers and CRC
	}{
		{"RDMAC", iwarp.Config{RNIC: mpa.RDMAC, CRC: iwarp.CRCOff},
			mpa.Capabilities{Version: 0, Markers: true}, requestFrame(0xc0, 0, ""),
			map[byte][]byte{0: replyFrame(0xc0, 0, ""), 1: replyFrame(0xc0, 0, "")}},
		{"non-permissive M=0 C=0", iwarp.Config{Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOff},
			mpa.Capabilities{Version: 1}, requestFrame(0x00, 1, ""),
			map[byte][]byte{0: replyFrame(0x60, 1, ""), 1: replyFrame(0x40, 1, "")}},
		{"non-permissive M=1 C=1", iwarp.Config{Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOn, Markers: mpa.MarkersOn},
			mpa.Capabilities{Version: 1, Markers: true}, requestFrame(0xc0, 1, ""),
			map[byte][]byte{0: replyFrame(0xe0, 1, ""), 1: replyFrame(0xc0, 1, "")}},
		{"permissive M=0 C=0", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOff},
			mpa.Capabilities{Version: 1, Selectable: true}, requestFrame(0x00, 1, ""),
			map[byte][]byte{0: replyFrame(0xc0, 0, ""), 1: replyFrame(0x40, 1, "")}},
		{"permissive M=1 C=1", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOn, Markers: mpa.MarkersOn},
			mpa.Capabilities{Version: 1, Selectable: true, Markers: true}, requestFrame(0xc0, 1, ""),
			map[byte][]byte{0: replyFrame(0xc0, 0, ""), 1: replyFrame(0xc0, 1, "")}},
		{"permissive as RDMAC", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC, CRC: iwarp.CRCOff},
			mpa.Capabilities{Version: 0, Selectable: true, Markers: true}, requestFrame(0xc0, 0, ""),
			map[byte][]byte{0: replyFrame(0xc0, 0, ""), 1: replyFrame(0xc0, 0, "")}},
		{"permissive as IETF", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF, Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOff},
			mpa.Capabilities{Version: 1, Selectable: true}, requestFrame(0x00, 1, ""),
			map[byte][]byte{0: replyFrame(0x60, 1, ""), 1: replyFrame(0x40, 1, "")}},
		{"the zero Config", iwarp.Config{}, mpa.Capabilities{Version: 1}, requestFrame(0x10, 2, "\x00\x10\x00\x10"),
			map[byte][]byte{0: replyFrame(0x60, 1, ""), 1: replyFrame(0x40, 1, "")}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.capabilities, row.cfg.Capabilities()); diff != "" {
				t.Errorf("Capabilities (-want +got):\n%s", diff)
			}
			t.Run("request", func(t *testing.T) {
				r := newRig(t, true, row.cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				p.wantStartup(row.request)
				p.write(replyFrame(0xe0, 0, ""))
				if d := hang.Receive(t, "Dial", dial); d.err == nil {
					t.Error("Dial: got a connection, want a refusal")
				}
			})
			for revision, reply := range row.replies {
				t.Run(fmt.Sprintf("reply to revision %d", revision), func(t *testing.T) {
					r := newRig(t, false, row.cfg)
					p := dialPeer(t, r.listener.Addr().String())
					p.write(requestFrame(0xc0, revision, ""))
					if ep, err := r.request().Accept(t.Context(), nil); err == nil {
						newLocal(t, ep)
					}
					p.wantStartup(reply)
				})
			}
		})
	}
}
