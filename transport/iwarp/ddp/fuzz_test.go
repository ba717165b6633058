package ddp_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// FuzzParse: a parsed segment encodes to the same bytes, except for reserved bits.
func FuzzParse(f *testing.F) {
	for _, tt := range headers {
		f.Add(unhex(f, tt.wire))
	}
	s := capture.Load(f, capture.P2P)
	for _, stream := range [][]byte{s.Initiator, s.Responder} {
		_, fpdus := capture.Split(f, stream)
		for i := 0; i < len(fpdus); i += 20 {
			f.Add(fpdus[i].ULPDU)
		}
	}
	f.Fuzz(func(t *testing.T, segment []byte) {
		h, payload, err := ddp.Parse(segment)
		if err != nil {
			if len(segment) >= ddp.UntaggedLen {
				t.Fatalf("%d bytes: %v", len(segment), err)
			}
			return
		}
		want := bytes.Clone(segment)
		want[0] &^= 0x3c
		if got := append(h.Append(nil), payload...); !bytes.Equal(got, want) {
			t.Errorf("got % x, want % x", got, want)
		}
	})
}
