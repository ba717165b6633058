package bth_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/internal/capture"
)

// TestCapture parses each packet of Linux, encodes it to the same bytes, and computes its ICRC.
func TestCapture(t *testing.T) {
	seen := make(map[bth.Opcode]int)
	for i, d := range capture.Load(t) {
		h, err := bth.Parse(d.Payload)
		if err != nil {
			t.Fatalf("datagram %d: %v", i, err)
		}
		seen[h.Opcode]++
		b := h.AppendHeaders(nil, len(h.Payload))
		b = append(b, h.Payload...)
		b = append(b, make([]byte, bth.Pad(len(h.Payload)))...)
		path := bth.NewPath(d.Src, d.Dst)
		b = path.AppendSum(b, 0, d.ID)
		if !bytes.Equal(b, d.Payload) {
			t.Fatalf("datagram %d is\n%x, and encoded again\n%x", i, d.Payload, b)
		}
		if h.Len(len(h.Payload)) != len(b) {
			t.Errorf("datagram %d: Len is %d, want %d", i, h.Len(len(h.Payload)), len(b))
		}
		if id, ok := path.Check(d.Payload); !ok || id != d.ID {
			t.Fatalf("datagram %d: found identification %d, %v; want %d", i, id, ok, d.ID)
		}
		for n := range len(d.Payload) {
			if n < h.Opcode.HeaderLen()+bth.ICRCLen {
				if _, err := bth.Parse(d.Payload[:n]); err == nil {
					t.Fatalf("datagram %d: its first %d bytes are taken for a packet", i, n)
				}
			}
			if id, ok := path.Check(d.Payload[:n]); ok && id == d.ID {
				t.Fatalf("datagram %d: its first %d bytes pass the check", i, n)
			}
		}
	}
	for _, o := range []bth.Opcode{
		bth.SendOnly, bth.WriteFirst, bth.WriteMiddle, bth.WriteLast, bth.WriteOnly, bth.ReadRequest,
		bth.ReadFirst, bth.ReadMiddle, bth.ReadLast, bth.Acknowledge, bth.SendOnlyInvalidate,
		bth.Datagram,
	} {
		if seen[o] == 0 {
			t.Errorf("no packet with opcode %#x", uint8(o))
		}
	}
}
