package ddp_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// counts are what one side of a capture sent.
type counts struct {
	Tagged, TaggedLast     int
	Untagged, UntaggedLast [3]int // by queue
	Payload                int    // bytes
}

// TestCaptures parses every segment of the captures and encodes it again. The counts for
// nfs3-siw-crc are those of tshark.
func TestCaptures(t *testing.T) {
	initiator := counts{
		Tagged: 141, TaggedLast: 2,
		Untagged: [3]int{70}, UntaggedLast: [3]int{70},
		Payload: 209547,
	}
	responder := counts{
		Tagged: 396, TaggedLast: 44,
		Untagged: [3]int{70, 2}, UntaggedLast: [3]int{70, 2},
		Payload: 535962,
	}
	withRTR := initiator // an empty RDMA Write
	withRTR.Tagged++
	withRTR.TaggedLast++

	for _, tt := range []struct {
		name                 string
		initiator, responder counts
	}{
		{capture.Stock, initiator, responder},
		{capture.CRC, initiator, responder},
		{capture.P2P, withRTR, responder},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := capture.Load(t, tt.name)
			if diff := cmp.Diff(tt.initiator, count(t, s.Initiator)); diff != "" {
				t.Errorf("initiator (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.responder, count(t, s.Responder)); diff != "" {
				t.Errorf("responder (-want +got):\n%s", diff)
			}
		})
	}
}

// count counts a stream. Each queue must number its messages, and each message its bytes (RFC 5041
// section 5).
func count(t *testing.T, stream []byte) counts {
	t.Helper()
	var (
		c   counts
		msn = [3]uint32{1, 1, 1}
		mo  [3]uint32
	)
	_, fpdus := capture.Split(t, stream)
	for i, f := range fpdus {
		h, payload, err := ddp.Parse(f.ULPDU)
		if err != nil {
			t.Fatalf("segment %d: %v", i, err)
		}
		if got := append(h.Append(nil), payload...); !bytes.Equal(got, f.ULPDU) {
			t.Errorf("segment %d: got % x, want % x", i, got[:h.Len()], f.ULPDU[:h.Len()])
		}
		if h.Version != ddp.Version {
			t.Errorf("segment %d: got version %d, want %d", i, h.Version, ddp.Version)
		}
		c.Payload += len(payload)
		if h.Tagged {
			c.Tagged++
			if h.Last {
				c.TaggedLast++
			}
			continue
		}
		q := h.Queue
		if q >= uint32(len(msn)) {
			t.Fatalf("segment %d: got queue %d", i, q)
		}
		if h.MSN != msn[q] || h.MO != mo[q] {
			t.Errorf("segment %d: got MSN %d, MO %d, want %d, %d", i, h.MSN, h.MO, msn[q], mo[q])
		}
		c.Untagged[q]++
		if mo[q] += uint32(len(payload)); h.Last {
			c.UntaggedLast[q]++
			msn[q], mo[q] = msn[q]+1, 0
		}
	}
	return c
}
