//go:build !race

package xdr_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Decoding a padded message in two buffers, with the data at the beginning of the second.
func TestPaddingAllocates(t *testing.T) {
	a := writeArgs{handle: make([]byte, 28), data: make([]byte, 5000), count: 5000}
	var e xdr.Encoder
	a.encode(&e)
	m := e.Message()
	const base, align, thresh = 36, 4096, 1000
	b := make([]byte, base, 1<<14)
	var d xdr.Decoder
	if n := testing.AllocsPerRun(100, func() {
		wire := m.AppendPadded(b, nil, align, thresh)
		if len(wire) != base+m.PaddedLen(base, nil, align, thresh) {
			t.Fatal("PaddedLen does not agree")
		}
		d.Reset(wire[base:align], nil)
		d.AppendInline(wire[align:])
		d.SetPadding(xdr.Padding{Align: align, Threshold: thresh, Base: base})
		if a.decode(&d); d.Finish() != nil {
			t.Fatal(d.Err())
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Decoding plain values, and results that land in the caller's buffer.
func TestResultsAllocate(t *testing.T) {
	var e xdr.Encoder
	p := make([]byte, 9)
	var d xdr.Decoder
	if n := testing.AllocsPerRun(100, func() {
		e.Reset()
		e.Float32(1)
		e.Float64(2)
		e.Int32(int32(broken))
		if e.Optional(true) {
			e.String("hello", 5)
		}
		d.Reset(e.Message().Inline, nil)
		if d.Float32() != 1 || d.Float64() != 2 || xdr.DecodeEnum(&d, fine, broken, unsupported) != broken ||
			!d.Optional() || string(d.BulkInto(p)) != "hello" || d.Finish() != nil {
			t.Fatal(d.Err())
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Decoding both kinds of chunks, with buffers that end between items.
func TestChunksAllocate(t *testing.T) {
	wire := unhex(t, "00000005 00000005 00000001 00000005 68656c6c6f000000")
	chunks := []xdr.Chunk{
		{Position: xdr.Floating, Len: 5, Data: []byte("hello")},
		{Position: xdr.Floating},
		{Position: 16, Len: 5, Data: []byte("hello")},
	}
	for _, cut := range []int{0, 4, 8, 12, 16, 24} {
		var d xdr.Decoder
		if n := testing.AllocsPerRun(100, func() {
			d.Reset(wire[:cut], chunks)
			d.AppendInline(wire[cut:])
			if n := d.Bulk(9).Len() + d.Bulk(9).Len() + int(d.Uint32()) + d.Bulk(9).Len(); n != 16 || d.Finish() != nil {
				t.Fatal(n, d.Err())
			}
		}); n > 0 {
			t.Errorf("second buffer from byte %d: %v allocations", cut, n)
		}
	}
}
