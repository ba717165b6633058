package iwarp_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestVersionsDoNotMix sends segments with the other version of DDP, of RDMAP, and of both, on
// connections of either version. The answer has the version of the connection
// (draft-carrier-rddp-rnic-interop-00 section 5.1).
func TestVersionsDoNotMix(t *testing.T) {
	for _, dialing := range []bool{false, true} {
		for _, of := range []byte{0, 1} {
			for _, tt := range []struct {
				name       string
				ddp, rdmap byte // whether each is of the other version: 0 or 1
				tagged     bool
				code       rdmap.Code
				bare       bool
			}{
				{"tagged, DDP", 1, 0, true, rdmap.TaggedVersion, true},
				{"tagged, RDMAP", 0, 1, true, rdmap.OperationVersion, false},
				{"tagged, both", 1, 1, true, rdmap.TaggedVersion, true},
				{"untagged, DDP", 1, 0, false, rdmap.UntaggedVersion, true},
				{"untagged, RDMAP", 0, 1, false, rdmap.OperationVersion, false},
				{"untagged, both", 1, 1, false, rdmap.UntaggedVersion, true},
			} {
				t.Run(fmt.Sprintf("%s, version %d, %s", describe(dialing, iwarp.CRCOn), of, tt.name), func(t *testing.T) {
					cfg := violationConfig(iwarp.CRCOn)
					if of == 0 {
						cfg = rdmacConfig()
					}
					r := newRig(t, dialing, cfg)
					s := newViolationRig(t, r)
					// The segment on the wire.
					wrong := segment(onQueue(rdmap.OpSend, 2), "mixed")
					if tt.tagged {
						wrong = segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base),
							"mixed")
					}
					wrong[0] = wrong[0]&^0x03 | of ^ tt.ddp
					wrong[1] = wrong[1]&^0xc0 | (of^tt.rdmap)<<6
					s.peer.write(s.fpdu(wrong))

					terminate := append([]byte{0x40 | of, of<<6 | 0x07, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0},
						terminateBytes(tt.code, wrong, !tt.bare, false)...)
					if got := s.dialect(s.segment()); !bytes.Equal(got, terminate) {
						t.Errorf("Terminate on the wire (-want +got):\n%s",
							cmp.Diff(terminate, got))
					}
					s.wantFIN()
					wantTerminated(t, s.ended(), tt.code, false, nil)
					if len(s.messages) > 0 {
						t.Error("received a message")
					}
					s.wantMemory()
					r.wantCounters(map[string]int{"Connections": 1, "TerminatesSent": 1})
					r.log.want(t, 1, "connection terminated")
				})
			}
		}
	}
}
