package xdr_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// released counts.
type released int

func (r *released) Release() { *r++ }

// A stream appended to another reads as if it had been encoded there. Its bulk data stays in place,
// and is released by its owner.
func TestAppend(t *testing.T) {
	var rel released
	encode := func(e *xdr.Encoder) {
		e.Uint32(7)
		e.BulkBytes([]byte("five!"), &rel)
		e.Uint32(8)
		e.BulkBytes([]byte("four"), &rel)
	}
	var inner, outer, direct xdr.Encoder
	encode(&inner)
	in := inner.Message()
	for _, e := range []*xdr.Encoder{&outer, &direct} {
		e.Uint32(1)
		e.BulkBytes([]byte("abc"), nil)
	}
	outer.Append(&in)
	encode(&direct)
	outer.Uint32(9)
	direct.Uint32(9)

	got, want := outer.Message(), direct.Message()
	if g, w := got.AppendTo(nil), want.AppendTo(nil); !bytes.Equal(g, w) || got.Len() != want.Len() {
		t.Errorf("\n got %x\nwant %x", g, w)
	}
	if outer.Position() != direct.Position() {
		t.Errorf("position %d, want %d", outer.Position(), direct.Position())
	}
	for i := range want.Bulk {
		if g, w := got.Bulk[i], want.Bulk[i]; g.Position != w.Position || g.Len != w.Len {
			t.Errorf("item %d: %d bytes at %d, want %d at %d", i, g.Len, g.Position, w.Len, w.Position)
		}
	}
	got.Release()
	if rel != 0 {
		t.Errorf("%d releases by the outer stream, want none", rel)
	}
	in.Release()
	if rel != 2 {
		t.Errorf("%d releases by the inner stream, want 2", rel)
	}
}

// Extend returns memory of the stream, exactly the requested bytes.
func TestExtend(t *testing.T) {
	var e xdr.Encoder
	for range 2 { // the second time with used memory
		e.Reset()
		e.Uint32(1)
		for _, n := range []int{0, 4, 8, 1 << 16} {
			e.Uint32(uint32(n))
			at := e.Position()
			p := e.Extend(n)
			if len(p) != n || cap(p) != n || e.Position() != at+n {
				t.Fatalf("%d bytes with capacity %d, the stream has %d more; want %d", len(p), cap(p),
					e.Position()-at, n)
			}
			for i := range p {
				p[i] = byte(n + i)
			}
		}
		e.Uint32(2)
		d := xdr.NewDecoder(e.Message().Inline)
		if d.Uint32() != 1 {
			t.Error("what came before has changed")
		}
		for _, n := range []int{0, 4, 8, 1 << 16} {
			for i, b := range d.Opaque(n) {
				if b != byte(n+i) {
					t.Fatalf("byte %d of %d is %d", i, n, b)
				}
			}
		}
		if d.Uint32() != 2 || d.Finish() != nil {
			t.Errorf("what came behind has changed: %v", d.Err())
		}
	}
	e.Invalidate()
	defer func() {
		if recover() == nil {
			t.Error("Extend of a stream that has ended")
		}
	}()
	e.Extend(4)
}
