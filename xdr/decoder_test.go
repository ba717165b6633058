package xdr_test

import (
	"errors"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Invalid values and unbelievable lengths are errors.
func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		name, wire string
		decode     func(*xdr.Decoder)
		want       error
		position   int // of the error
	}{
		{"bool 2", "00000002", func(d *xdr.Decoder) { d.Bool() }, xdr.ErrValue, 4},
		{"bool -1", "ffffffff", func(d *xdr.Decoder) { d.Bool() }, xdr.ErrValue, 4},
		{"enum above", "00000004", func(d *xdr.Decoder) { d.Enum(3) }, xdr.ErrValue, 4},
		{"enum negative", "80000000", func(d *xdr.Decoder) { d.Enum(3) }, xdr.ErrValue, 4},
		{"enumeration between two values", "00000001", func(d *xdr.Decoder) { stateOf(d) }, xdr.ErrValue, 4},
		{"enumeration of the other sign", "00000005", func(d *xdr.Decoder) { stateOf(d) }, xdr.ErrValue, 4},
		{"enumeration without values", "00000000", func(d *xdr.Decoder) { xdr.DecodeEnum[state](d) }, xdr.ErrValue, 4},
		{"optional-data 2", "00000002", func(d *xdr.Decoder) { d.Optional() }, xdr.ErrValue, 4},
		{"linked list without end", "00000001 00000007", func(d *xdr.Decoder) { linked(d) }, xdr.ErrShort, 8},
		{"opaque over the limit", "00000005 6162636465 000000", func(d *xdr.Decoder) { d.Opaque(4) }, xdr.ErrLimit, 4},
		{"string over the limit", "00000001 61 000000", func(d *xdr.Decoder) { _ = d.String(0) }, xdr.ErrLimit, 4},
		{"bulk over the limit", "00000005 6162636465 000000", func(d *xdr.Decoder) { d.Bulk(4) }, xdr.ErrLimit, 4},
		{"bulk larger than what it goes into", "00000005 6162636465 000000", func(d *xdr.Decoder) { d.BulkInto(make([]byte, 4, 8)) }, xdr.ErrLimit, 4},
		{"opaque of 4 GiB", "ffffffff 61626364", func(d *xdr.Decoder) { d.Opaque(math.MaxInt32) }, xdr.ErrLimit, 4},
		{"opaque of 2 GiB", "7fffffff 61626364", func(d *xdr.Decoder) { d.Opaque(math.MaxInt32) }, xdr.ErrShort, 4},
		{"bulk of 2 GiB", "7fffffff 61626364", func(d *xdr.Decoder) { d.Bulk(math.MaxInt32) }, xdr.ErrShort, 4},
		{"count over the limit", "00000003 00000000 00000000 00000000", func(d *xdr.Decoder) { d.Count(2, 4) }, xdr.ErrLimit, 4},
		{"count that cannot be there", "00000003 00000000 00000000", func(d *xdr.Decoder) { d.Count(100, 4) }, xdr.ErrShort, 4},
		{"count that overflows", "7fffffff 00000000", func(d *xdr.Decoder) { d.Count(math.MaxInt32, math.MaxInt32) }, xdr.ErrShort, 4},
		{"second item", "00000001 00000002", func(d *xdr.Decoder) { d.Bool(); d.Bool() }, xdr.ErrValue, 8},
		{"fixed behind an item", "00000001 61", func(d *xdr.Decoder) { d.Bool(); d.Fixed(1) }, xdr.ErrShort, 4},
		{"raw", "00000001", func(d *xdr.Decoder) { d.Raw(8) }, xdr.ErrShort, 0},
		{"rest over the limit", "00000001 00000002", func(d *xdr.Decoder) { d.Uint32(); _, _ = d.Rest(t.Context(), 3) }, xdr.ErrLimit, 4},
		{"raw of less than nothing", "00000001", func(d *xdr.Decoder) { d.Raw(-4) }, xdr.ErrShort, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := xdr.NewDecoder(unhex(t, tt.wire))
			tt.decode(d)
			var de *xdr.DecodeError
			if err := d.Err(); !errors.Is(err, tt.want) || !errors.As(err, &de) || de.Position != tt.position {
				t.Fatalf("got %v, want %v at byte %d", err, tt.want, tt.position)
			}

			// The first error stays, and nothing more is decoded.
			first := d.Err()
			if d.Uint32() != 0 || d.Int32() != 0 || d.Uint64() != 0 || d.Int64() != 0 || d.Bool() || d.Enum(9) != 0 ||
				d.Count(9, 0) != 0 || d.Fixed(0) != nil || d.Fixed(1) != nil || d.Opaque(9) != nil || d.String(9) != "" ||
				d.Raw(4) != nil || d.Bulk(9).Len() != 0 || len(d.BulkInto(make([]byte, 9))) != 0 ||
				d.Float32() != 0 || d.Float64() != 0 || d.Optional() || xdr.DecodeEnum(d, unsupported) != 0 || d.Remaining() != 0 {
				t.Error("a decoder that has failed decodes something")
			}
			d.Fail(errors.New("another"))
			if d.Err() != first || d.Finish() != first {
				t.Errorf("the error became %v, then %v", d.Err(), d.Finish())
			}
		})
	}
}

// Bulk data that fails to decode has length 0.
func TestDecodeBulkFailed(t *testing.T) {
	for _, wire := range []string{"00000005 68656c6c", "00000005 68656c6c6f 000001", "00000009 00", "0000"} {
		d := xdr.NewDecoder(unhex(t, wire))
		b := d.Bulk(8)
		if p, err := b.Bytes(t.Context()); b.Len() != 0 || len(p) != 0 || err != nil || d.Err() == nil {
			t.Errorf("%s: %d bytes, %q, %v", wire, b.Len(), p, err)
		}
	}
}

// An error passed to Fail has a position, too.
func TestDecoderFail(t *testing.T) {
	own := errors.New("file handle of another export")
	d := xdr.NewDecoder(unhex(t, "00000001 00000002"))
	d.Uint32()
	d.Fail(own)
	if err := d.Finish(); !errors.Is(err, own) || err.Error() != "xdr: at byte 4: file handle of another export" {
		t.Errorf("got %v", err)
	}
}

func TestDecoderReset(t *testing.T) {
	var d xdr.Decoder
	if err := d.Finish(); err != nil {
		t.Errorf("an empty stream: %v", err)
	}
	for range 2 {
		d.Reset(unhex(t, "00000002"), nil)
		d.Bool()
		if d.Err() == nil {
			t.Error("no error")
		}
		d.Reset(unhex(t, "00000001"), nil)
		if !d.Bool() || d.Finish() != nil || d.Position() != 4 {
			t.Errorf("after Reset: %v at byte %d", d.Err(), d.Position())
		}
	}
}

// An item decoded by reference has no extra capacity, so appending to it does not change what
// follows.
func TestDecodeCapacity(t *testing.T) {
	bulk := func(d *xdr.Decoder) []byte { p, _ := d.Bulk(9).Bytes(t.Context()); return p }
	chunk := []xdr.Chunk{{Position: 4, Len: 3, Data: []byte("abc and more")}}
	for name, tt := range map[string]struct {
		decode func(*xdr.Decoder) []byte
		chunks []xdr.Chunk
	}{
		"opaque": {func(d *xdr.Decoder) []byte { return d.Opaque(9) }, nil},
		"fixed":  {func(d *xdr.Decoder) []byte { d.Uint32(); return d.Fixed(3) }, nil},
		"raw":    {func(d *xdr.Decoder) []byte { d.Uint32(); return d.Raw(4) }, nil},
		"bulk":   {bulk, nil},
		"chunk":  {bulk, chunk},
	} {
		var d xdr.Decoder
		d.Reset(unhex(t, "00000003 61626300 00000007"), tt.chunks)
		if p := tt.decode(&d); len(p) < 3 || cap(p) != len(p) {
			t.Errorf("%s: %d bytes with capacity %d", name, len(p), cap(p))
		}
	}
}
