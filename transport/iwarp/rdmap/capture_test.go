package rdmap

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// TestCaptures parses the RDMAP bytes of every segment of the captures and encodes them again. The
// counts for nfs3-siw-crc are those of tshark.
func TestCaptures(t *testing.T) {
	initiator := map[Opcode]int{OpReadResponse: 141, OpSend: 70}
	responder := map[Opcode]int{OpWrite: 396, OpReadRequest: 2, OpSend: 58, OpSendInvalidate: 12}
	withRTR := map[Opcode]int{OpWrite: 1, OpReadResponse: 141, OpSend: 70}
	for _, tt := range []struct {
		name                 string
		initiator, responder map[Opcode]int
	}{
		{capture.Stock, initiator, responder},
		{capture.CRC, initiator, responder},
		{capture.P2P, withRTR, responder},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := capture.Load(t, tt.name)
			sent, received := walk(t, s.Initiator), walk(t, s.Responder)
			if diff := cmp.Diff(tt.initiator, sent.segments); diff != "" {
				t.Errorf("initiator's segments (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.responder, received.segments); diff != "" {
				t.Errorf("responder's segments (-want +got):\n%s", diff)
			}
			// The initiator's responses go to the places that the responder's requests name.
			if diff := cmp.Diff(received.requested, sent.responded); diff != "" {
				t.Errorf("RDMA Reads (-requested +responded):\n%s", diff)
			}
			if got, want := total(received.requested), 200003; got != want {
				t.Errorf("got %d bytes read, want %d", got, want)
			}
		})
	}
}

// traffic is what one side sent.
type traffic struct {
	segments  map[Opcode]int
	requested []read // by Read Requests
	responded []read // by Read Responses
}

// read is an RDMA Read as seen at its sink.
type read struct {
	STag, Offset uint64
	Len          int
}

func total(reads []read) (n int) {
	for _, r := range reads {
		n += r.Len
	}
	return n
}

func walk(t *testing.T, stream []byte) traffic {
	t.Helper()
	c := traffic{segments: map[Opcode]int{}}
	open := false // inside a Read Response
	_, fpdus := capture.Split(t, stream)
	for i, f := range fpdus {
		h, payload, err := ddp.Parse(f.ULPDU)
		if err != nil {
			t.Fatalf("segment %d: %v", i, err)
		}
		version, op := ParseControl(h.Control)
		if version != ddp.Version || !op.Valid() {
			t.Errorf("segment %d: got version %d, %v", i, version, op)
		}
		if got := Control(ddp.Version, op); got != h.Control {
			t.Errorf("segment %d: got control %#02x, want %#02x", i, got, h.Control)
		}
		if op.Tagged() != h.Tagged || !h.Tagged && op.Queue() != h.Queue {
			t.Errorf("segment %d: %v with tagged %v, queue %d", i, op, h.Tagged, h.Queue)
		}
		if !op.Invalidates() && h.ULP != 0 || op.Invalidates() && h.ULP == 0 {
			t.Errorf("segment %d: %v invalidates %#x", i, op, h.ULP)
		}
		c.segments[op]++
		switch op {
		case OpReadRequest:
			r, err := ParseReadRequest(payload)
			if err != nil {
				t.Fatalf("segment %d: %v", i, err)
			}
			if got := r.Append(nil); !bytes.Equal(got, payload) {
				t.Errorf("segment %d: got % x, want % x", i, got, payload)
			}
			c.requested = append(c.requested, read{uint64(r.SinkSTag), r.SinkOffset, int(r.Len)})
		case OpReadResponse:
			if !open {
				c.responded = append(c.responded, read{uint64(h.STag), h.Offset, 0})
			}
			c.responded[len(c.responded)-1].Len += len(payload)
			open = !h.Last
		}
	}
	return c
}
