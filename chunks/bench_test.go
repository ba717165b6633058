package chunks

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// benchLimits are those of a connection with Linux, where one window is one segment.
var benchLimits = Limits{InlineSend: 4096, InlineRecv: 4096, MinChunk: 1024, SegmentSize: 1 << 20}

// benchLists are lists as calls have them.
func benchLists() []struct {
	name  string
	lists *Lists
} {
	empty, read, write, all := new(Lists), new(Lists), new(Lists), new(Lists)
	one := AppendSegments(nil, 1, 4096, 1<<20, 1<<20)
	pages := AppendSegments(nil, 2, 4096, 1<<16, 4096)
	read.Reads = []ReadSegment{{Position: 148, Segment: one[0]}}
	write.AddWrite(one)
	for _, s := range pages {
		all.Reads = append(all.Reads, ReadSegment{Position: 148, Segment: s})
	}
	all.AddWrite(pages)
	all.SetReply(pages)
	return []struct {
		name  string
		lists *Lists
	}{{"empty", empty}, {"READ", write}, {"WRITE", read}, {"three of 16 segments", all}}
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range benchLists() {
		b.Run(bb.name, func(b *testing.B) {
			p := make([]byte, 0, bb.lists.Len())
			b.ReportAllocs()
			for b.Loop() {
				p = bb.lists.Append(p[:0])
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range benchLists() {
		b.Run(bb.name, func(b *testing.B) {
			p := bb.lists.Append(nil)
			var d xdr.Decoder
			var l Lists
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(p, nil)
				if err := l.Decode(&d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWriteChunk fills an offered chunk, as a server does.
func BenchmarkWriteChunk(b *testing.B) {
	for _, bb := range []struct {
		name    string
		segment int
	}{{"1 segment", 1 << 16}, {"16 segments", 4096}} {
		b.Run(bb.name, func(b *testing.B) {
			offered := WriteChunk(AppendSegments(nil, 1, 0, 1<<16, bb.segment))
			const n = 1<<16 - 5
			var filled []Segment
			b.ReportAllocs()
			for b.Loop() {
				filled, _ = Distribute(filled[:0], offered, n)
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	var dst []Segment
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendSegments(dst[:0], 1, 4096, 1<<20, 1<<16)
	}
}

func BenchmarkPlanCall(b *testing.B) {
	message := func(bulk int) *xdr.Message {
		var e xdr.Encoder
		e.Fixed(make([]byte, 100))
		e.BulkBytes(make([]byte, bulk), nil)
		m := e.Message()
		return &m
	}
	data := [][]byte{make([]byte, 1<<20)}
	for _, bb := range []struct {
		name     string
		m        *xdr.Message
		results  [][]byte
		maxReply int
	}{
		{"inline", message(0), nil, 200},
		{"read chunk", message(1 << 20), nil, 200},
		{"write chunk", message(0), data, 200},
		{"reply chunk", message(0), nil, 1 << 16},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := PlanCall(bb.m, bb.results, bb.maxReply, benchLimits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlanReply(b *testing.B) {
	var e xdr.Encoder
	e.Fixed(make([]byte, 100))
	e.BulkBytes(make([]byte, 1<<20), nil)
	m := e.Message()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := PlanReply(&m, nil, FixedLen+emptyLists, 0, benchLimits); err != nil {
			b.Fatal(err)
		}
	}
}
