package rdmap

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

var benchRequest = ReadRequest{SinkSTag: 1, SinkOffset: 1 << 40, Len: 1 << 20, SourceSTag: 2, SourceOffset: 4096}

func BenchmarkReadRequestAppend(b *testing.B) {
	p := make([]byte, 0, ReadRequestLen)
	b.ReportAllocs()
	for b.Loop() {
		p = benchRequest.Append(p[:0])
	}
}

func BenchmarkReadRequestParse(b *testing.B) {
	p := benchRequest.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := ParseReadRequest(p); err != nil || r != benchRequest {
			b.Fatalf("got %+v, %v; want %+v", r, err, benchRequest)
		}
	}
}

// benchSegment is a Read Request, for which a Terminate has the most copies.
func benchSegment() []byte {
	h := ddp.Header{Last: true, Version: ddp.Version, Control: Control(ddp.Version, OpReadRequest), Queue: ddp.QueueReadRequest, MSN: 1}
	return benchRequest.Append(h.Append(nil))
}

func BenchmarkTerminateAppend(b *testing.B) {
	segment := benchSegment()
	p := make([]byte, 0, TerminateMaxLen)
	b.ReportAllocs()
	for b.Loop() {
		t := TerminateForSegment(ProtectionSTag, segment)
		if p = t.Append(p[:0]); len(p) != TerminateMaxLen {
			b.Fatalf("got %d bytes, want %d", len(p), TerminateMaxLen)
		}
	}
}

func BenchmarkTerminateParse(b *testing.B) {
	t := TerminateForSegment(ProtectionSTag, benchSegment())
	p := t.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := ParseTerminate(p); err != nil || got.Code != t.Code {
			b.Fatalf("got %v, %v; want %v", got.Code, err, t.Code)
		}
	}
}
