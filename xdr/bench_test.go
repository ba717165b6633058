package xdr_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// writeArgs looks like the arguments of an NFS WRITE.
type writeArgs struct {
	handle, data []byte
	offset       uint64
	count        uint32
}

func (a *writeArgs) encode(e *xdr.Encoder) {
	e.Opaque(a.handle, 64)
	e.Uint64(a.offset)
	e.Uint32(a.count)
	e.Uint32(2)
	e.BulkBytes(a.data, nil)
}

func (a *writeArgs) decode(d *xdr.Decoder) int {
	a.handle = d.Opaque(64)
	a.offset = d.Uint64()
	a.count = d.Uint32()
	d.Enum(2)
	return d.Bulk(1 << 20).Len()
}

func BenchmarkEncode(b *testing.B) {
	a := writeArgs{handle: make([]byte, 28), data: make([]byte, 1<<20), count: 1 << 20}
	var e xdr.Encoder
	b.ReportAllocs()
	for b.Loop() {
		e.Reset()
		a.encode(&e)
	}
}

func BenchmarkDecode(b *testing.B) {
	a := writeArgs{handle: make([]byte, 28), data: make([]byte, 1<<20), count: 1 << 20}
	var e xdr.Encoder
	a.encode(&e)
	inline, chunks := func() ([]byte, []xdr.Chunk) { m := e.Message(); return split(&m) }()
	wire := flat(&e)
	for _, bb := range []struct {
		name   string
		inline []byte
		chunks []xdr.Chunk
	}{{"flat", wire, nil}, {"chunk", inline, chunks}} {
		b.Run(bb.name, func(b *testing.B) {
			var d xdr.Decoder
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(bb.inline, bb.chunks)
				if a.decode(&d); d.Finish() != nil {
					b.Fatal(d.Err())
				}
			}
		})
	}
}

// A padded message in two buffers, with the data at the beginning of the second.
func BenchmarkDecodePadded(b *testing.B) {
	a := writeArgs{handle: make([]byte, 28), data: make([]byte, 1<<14), count: 1 << 14}
	var e xdr.Encoder
	a.encode(&e)
	m := e.Message()
	const align, thresh = 4096, 1024
	wire := m.AppendPadded(nil, nil, align, thresh)
	var d xdr.Decoder
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(wire[:align], nil)
		d.AppendInline(wire[align:])
		d.SetPadding(xdr.Padding{Align: align, Threshold: thresh})
		if a.decode(&d); d.Finish() != nil {
			b.Fatal(d.Err())
		}
	}
}

func BenchmarkPieces(b *testing.B) {
	var e xdr.Encoder
	several(&e, 4, 5, 0, 7)
	m := e.Message()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		m.Pieces(func(p []byte) { n += len(p) })
	}
}
