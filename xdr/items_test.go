package xdr_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// unhex decodes hexadecimal digits with blanks between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// items are the items of RFC 4506 with their encodings.
var items = []struct {
	name   string
	wire   string
	encode func(*xdr.Encoder)
	decode func(*xdr.Decoder) any
	want   any
}{
	{"unsigned", "deadbeef", func(e *xdr.Encoder) { e.Uint32(0xdeadbeef) }, uint32s, uint32(0xdeadbeef)},
	{"integer", "ffffffff", func(e *xdr.Encoder) { e.Int32(-1) }, int32s, int32(-1)},
	{"smallest integer", "80000000", func(e *xdr.Encoder) { e.Int32(math.MinInt32) }, int32s, int32(math.MinInt32)},
	{"unsigned hyper", "0123456789abcdef", func(e *xdr.Encoder) { e.Uint64(0x0123456789abcdef) }, uint64s, uint64(0x0123456789abcdef)},
	{"hyper", "fffffffffffffffe", func(e *xdr.Encoder) { e.Int64(-2) }, int64s, int64(-2)},
	{"smallest hyper", "8000000000000000", func(e *xdr.Encoder) { e.Int64(math.MinInt64) }, int64s, int64(math.MinInt64)},
	{"false", "00000000", func(e *xdr.Encoder) { e.Bool(false) }, bools, false},
	{"true", "00000001", func(e *xdr.Encoder) { e.Bool(true) }, bools, true},
	{"floating-point 1", "3f800000", func(e *xdr.Encoder) { e.Float32(1) }, float32s, float32(1)},
	{"floating-point -118.625", "c2ed4000", func(e *xdr.Encoder) { e.Float32(-118.625) }, float32s, float32(-118.625)},
	{"smallest floating-point", "00000001", func(e *xdr.Encoder) { e.Float32(math.SmallestNonzeroFloat32) }, float32s, float32(math.SmallestNonzeroFloat32)},
	{"infinite floating-point", "ff800000", func(e *xdr.Encoder) { e.Float32(float32(math.Inf(-1))) }, float32s, float32(math.Inf(-1))},
	{"double-precision 1", "3ff0000000000000", func(e *xdr.Encoder) { e.Float64(1) }, float64s, 1.0},
	{"double-precision pi", "400921fb54442d18", func(e *xdr.Encoder) { e.Float64(math.Pi) }, float64s, math.Pi},
	{"largest double-precision", "7fefffffffffffff", func(e *xdr.Encoder) { e.Float64(math.MaxFloat64) }, float64s, math.MaxFloat64},
	{"infinite double-precision", "7ff0000000000000", func(e *xdr.Encoder) { e.Float64(math.Inf(1)) }, float64s, math.Inf(1)},
	{"enumeration", "00000003", func(e *xdr.Encoder) { e.Uint32(3) }, func(d *xdr.Decoder) any { return d.Enum(3) }, uint32(3)},
	{"signed enumeration", "fffffffb", func(e *xdr.Encoder) { e.Int32(int32(broken)) }, stateOf, broken},
	{"enumeration with gaps", "00002714", func(e *xdr.Encoder) { e.Int32(int32(unsupported)) }, stateOf, unsupported},
	{"optional-data", "00000001 00000007", func(e *xdr.Encoder) {
		if e.Optional(true) {
			e.Uint32(7)
		}
	}, optional, []uint32{7}},
	{"optional-data that is absent", "00000000", func(e *xdr.Encoder) {
		if e.Optional(false) {
			e.Uint32(7)
		}
	}, optional, []uint32(nil)},
	{"linked list", "00000001 00000007 00000001 00000008 00000000", func(e *xdr.Encoder) {
		e.Optional(true)
		e.Uint32(7)
		e.Optional(true)
		e.Uint32(8)
		e.Optional(false)
	}, linked, []uint32{7, 8}},
	{"array", "00000002 00000007 00000008", func(e *xdr.Encoder) { e.Uint32(2); e.Uint32(7); e.Uint32(8) }, array, []uint32{7, 8}},
	{"empty array", "00000000", func(e *xdr.Encoder) { e.Uint32(0) }, array, []uint32(nil)},
	{"fixed opaque of 1", "61000000", func(e *xdr.Encoder) { e.Fixed([]byte("a")) }, fixed(1), "a"},
	{"fixed opaque of 4", "61626364", func(e *xdr.Encoder) { e.Fixed([]byte("abcd")) }, fixed(4), "abcd"},
	{"fixed opaque of 6", "616263646566 0000", func(e *xdr.Encoder) { e.Fixed([]byte("abcdef")) }, fixed(6), "abcdef"},
	{"fixed opaque of 0", "", func(e *xdr.Encoder) { e.Fixed(nil) }, fixed(0), ""},
	{"opaque of 0", "00000000", func(e *xdr.Encoder) { e.Opaque(nil, 0) }, opaque, ""},
	{"opaque of 1", "00000001 61000000", func(e *xdr.Encoder) { e.Opaque([]byte("a"), 1) }, opaque, "a"},
	{"opaque of 2", "00000002 61620000", func(e *xdr.Encoder) { e.Opaque([]byte("ab"), 9) }, opaque, "ab"},
	{"opaque of 3", "00000003 61626300", func(e *xdr.Encoder) { e.Opaque([]byte("abc"), 9) }, opaque, "abc"},
	{"opaque of 4", "00000004 61626364", func(e *xdr.Encoder) { e.Opaque([]byte("abcd"), 9) }, opaque, "abcd"},
	{"string of 0", "00000000", func(e *xdr.Encoder) { e.String("", 0) }, stringOf, ""},
	{"string of 5", "00000005 68656c6c 6f000000", func(e *xdr.Encoder) { e.String("hello", 5) }, stringOf, "hello"},
	{"string of 8, no ASCII", "00000008 c3a4c3b6 c3bcff00", func(e *xdr.Encoder) { e.String("äöü\xff\x00", 8) }, stringOf, "äöü\xff\x00"},
	{"bulk of 0", "00000000", func(e *xdr.Encoder) { e.BulkBytes(nil, nil) }, bulk, ""},
	{"bulk of 5", "00000005 68656c6c 6f000000", func(e *xdr.Encoder) { e.BulkBytes([]byte("hello"), nil) }, bulk, "hello"},
	{"bulk in pieces", "00000005 68656c6c 6f000000", func(e *xdr.Encoder) {
		e.Bulk([][]byte{nil, []byte("he"), {}, []byte("llo"), nil}, nil)
	}, bulk, "hello"},
	{"bulk of 0, into", "00000000", func(e *xdr.Encoder) { e.BulkBytes(nil, nil) }, bulkInto, ""},
	{"bulk of 5, into", "00000005 68656c6c 6f000000", func(e *xdr.Encoder) { e.BulkBytes([]byte("hello"), nil) }, bulkInto, "hello"},
	{"raw", "01020304 05060708", func(e *xdr.Encoder) { e.Raw([]byte{1, 2, 3, 4, 5, 6, 7, 8}) }, func(d *xdr.Decoder) any { return string(d.Raw(8)) }, "\x01\x02\x03\x04\x05\x06\x07\x08"},
}

func uint32s(d *xdr.Decoder) any  { return d.Uint32() }
func int32s(d *xdr.Decoder) any   { return d.Int32() }
func uint64s(d *xdr.Decoder) any  { return d.Uint64() }
func int64s(d *xdr.Decoder) any   { return d.Int64() }
func float32s(d *xdr.Decoder) any { return d.Float32() }
func float64s(d *xdr.Decoder) any { return d.Float64() }
func bools(d *xdr.Decoder) any    { return d.Bool() }
func stateOf(d *xdr.Decoder) any  { return xdr.DecodeEnum(d, states...) }
func opaque(d *xdr.Decoder) any   { return string(d.Opaque(9)) }
func stringOf(d *xdr.Decoder) any { return d.String(9) }

// state is an enumeration with gaps and a negative value.
type state int32

const (
	broken      state = -5
	fine        state = 0
	unsupported state = 10004
)

var states = []state{broken, fine, unsupported}

func optional(d *xdr.Decoder) any {
	if d.Optional() {
		return []uint32{d.Uint32()}
	}
	return []uint32(nil)
}

func linked(d *xdr.Decoder) any {
	var a []uint32
	for d.Optional() {
		a = append(a, d.Uint32())
	}
	return a
}

func fixed(n int) func(*xdr.Decoder) any {
	return func(d *xdr.Decoder) any { return string(d.Fixed(n)) }
}

func array(d *xdr.Decoder) any {
	var a []uint32
	for range d.Count(9, 4) {
		a = append(a, d.Uint32())
	}
	return a
}

func bulk(d *xdr.Decoder) any {
	b := d.Bulk(9)
	p := make([]byte, b.Len())
	if n := b.CopyTo(p); n != len(p) {
		d.Fail(errors.New("bulk data is not all there"))
	}
	return string(p)
}

func bulkInto(d *xdr.Decoder) any { return string(d.BulkInto(make([]byte, 9))) }

func TestItems(t *testing.T) {
	for _, tt := range items {
		t.Run(tt.name, func(t *testing.T) {
			wire := unhex(t, tt.wire)
			var e xdr.Encoder
			tt.encode(&e)
			if err := e.Err(); err != nil {
				t.Fatal(err)
			}
			m := e.Message()
			if got := m.AppendTo(nil); !bytes.Equal(got, wire) {
				t.Errorf("encoded %x, want %x", got, wire)
			}
			if e.Position() != len(wire) || m.Len() != len(wire) {
				t.Errorf("position %d, length %d, want %d", e.Position(), m.Len(), len(wire))
			}
			d := xdr.NewDecoder(wire)
			got := tt.decode(d)
			if err := d.Finish(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
			if d.Position() != len(wire) || d.Remaining() != 0 {
				t.Errorf("position %d, %d remaining, want %d, 0", d.Position(), d.Remaining(), len(wire))
			}

			for n := range wire {
				d := xdr.NewDecoder(wire[:n])
				tt.decode(d)
				if !errors.Is(d.Err(), xdr.ErrShort) {
					t.Errorf("%d of %d bytes: got %v, want ErrShort", n, len(wire), d.Err())
				}
			}
			d = xdr.NewDecoder(append(wire, 0, 0, 0, 0))
			tt.decode(d)
			if err := d.Finish(); !errors.Is(err, xdr.ErrTrailing) {
				t.Errorf("with bytes left over: got %v, want ErrTrailing", err)
			}
		})
	}
}

// NaNs keep their bits, and zeros their sign.
func TestFloatBits(t *testing.T) {
	for _, bits := range []uint32{0x80000000, 0x7fc00000, 0xffc00001, 0x7fffffff} {
		var e xdr.Encoder
		e.Uint32(bits)
		v := xdr.NewDecoder(e.Message().Inline).Float32()
		if got := math.Float32bits(v); got != bits {
			t.Errorf("decoded %08x, want %08x", got, bits)
		}
		want := bytes.Clone(e.Message().Inline)
		e.Reset()
		if e.Float32(v); !bytes.Equal(e.Message().Inline, want) {
			t.Errorf("encoded %x, want %x", e.Message().Inline, want)
		}
	}
	for _, bits := range []uint64{1 << 63, 0x7ff8000000000000, 0xfff8000000000001, math.MaxInt64} {
		var e xdr.Encoder
		e.Uint64(bits)
		v := xdr.NewDecoder(e.Message().Inline).Float64()
		if got := math.Float64bits(v); got != bits {
			t.Errorf("decoded %016x, want %016x", got, bits)
		}
		want := bytes.Clone(e.Message().Inline)
		e.Reset()
		if e.Float64(v); !bytes.Equal(e.Message().Inline, want) {
			t.Errorf("encoded %x, want %x", e.Message().Inline, want)
		}
	}
}

// All items in one stream, and every truncation of it.
func TestStream(t *testing.T) {
	var e xdr.Encoder
	for _, tt := range items {
		tt.encode(&e)
	}
	m := e.Message()
	wire := m.AppendTo(nil)
	decode := func(wire []byte) error {
		d := xdr.NewDecoder(wire)
		for _, tt := range items {
			got := tt.decode(d)
			if d.Err() != nil {
				return d.Err()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.name, diff)
			}
		}
		return d.Finish()
	}
	if err := decode(wire); err != nil {
		t.Fatal(err)
	}
	for n := range wire {
		if err := decode(wire[:n]); !errors.Is(err, xdr.ErrShort) {
			t.Errorf("%d of %d bytes: got %v, want ErrShort", n, len(wire), err)
		}
	}
}

// A round-up must be zero.
func TestPadding(t *testing.T) {
	for _, tt := range items {
		wire := unhex(t, tt.wire)
		n := len(wire)
		data, ok := tt.want.(string)
		if !ok || xdr.PadLen(len(data)) == 0 {
			continue
		}
		for i := n - xdr.PadLen(len(data)); i < n; i++ {
			for bit := range 8 {
				bad := bytes.Clone(wire)
				bad[i] = 1 << bit
				d := xdr.NewDecoder(bad)
				tt.decode(d)
				if !errors.Is(d.Err(), xdr.ErrPadding) {
					t.Errorf("%s, %x: got %v, want ErrPadding", tt.name, bad, d.Err())
				}
			}
		}
	}
}

func TestRoundUp(t *testing.T) {
	for n, want := range []int{0, 4, 4, 4, 4, 8, 8, 8, 8, 12} {
		if got := xdr.RoundUp(n); got != want || xdr.PadLen(n) != want-n {
			t.Errorf("RoundUp(%d) = %d, Pad = %d; want %d, %d", n, got, xdr.PadLen(n), want, want-n)
		}
	}
}
