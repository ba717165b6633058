package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// benchHeaders are headers of calls and replies as they come most.
func benchHeaders() map[string]*rpcrdma.Header {
	headers := make(map[string]*rpcrdma.Header)
	for _, name := range []string{"inline", "READ", "WRITE", "long"} {
		headers[name] = &rpcrdma.Header{XID: 1, Version: rpcrdma.ProtocolVersion, Credits: 64}
	}
	segment := chunks.Segment{Handle: 7, Length: 1 << 20, Offset: 1 << 40}
	headers["READ"].AddWrite([]chunks.Segment{segment})
	headers["WRITE"].Reads = []chunks.ReadSegment{{Position: 148, Segment: segment}}
	headers["long"].Type = rpcrdma.TypeNoMsg
	headers["long"].Reads = []chunks.ReadSegment{{Segment: segment}}
	headers["long"].SetReply([]chunks.Segment{segment})
	return headers
}

func BenchmarkHeaderAppend(b *testing.B) {
	for name, h := range benchHeaders() {
		b.Run(name, func(b *testing.B) {
			p := make([]byte, 0, h.Len())
			b.ReportAllocs()
			for b.Loop() {
				p = h.Append(p[:0])
			}
		})
	}
}

func BenchmarkHeaderParse(b *testing.B) {
	for name, want := range benchHeaders() {
		b.Run(name, func(b *testing.B) {
			p := want.Append(nil)
			var h rpcrdma.Header
			b.ReportAllocs()
			for b.Loop() {
				if n, err := h.Parse(p); err != nil || n != len(p) {
					b.Fatalf("got %d bytes, %v; want %d", n, err, len(p))
				}
			}
		})
	}
}
