package xdr_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A receiver skips padding (draft section 3.9).
func TestDecodePadding(t *testing.T) {
	const word, count5, hello, last = "00000001", "00000005", "68656c6c6f000000", "00000002"
	pads := func(n int) string { return strings.Repeat("a5", n) } // it need not be zero
	opaque := func(d *xdr.Decoder) string { return string(d.Opaque(9)) }
	str := func(d *xdr.Decoder) string { return d.String(9) }
	bulk := func(d *xdr.Decoder) string { p, _ := d.Bulk(9).Bytes(t.Context()); return string(p) }
	all := map[string]func(*xdr.Decoder) string{"opaque": opaque, "string": str, "bulk": bulk}
	for _, tt := range []struct {
		name    string
		wire    string // a word, an item, a word
		padding xdr.Padding
		decode  map[string]func(*xdr.Decoder) string
		want    string
		err     error
	}{
		{"to 16", word + count5 + pads(8) + hello + last, xdr.Padding{Align: 16, Threshold: 5}, all, "hello", nil},
		{"to 16, from a base", word + count5 + pads(4) + hello + last, xdr.Padding{Align: 16, Threshold: 5, Base: 4}, all, "hello", nil},
		{"to 16, from a base of several", word + count5 + pads(4) + hello + last, xdr.Padding{Align: 16, Threshold: 5, Base: 36}, all, "hello", nil},
		{"to 16, aligned already", word + count5 + hello + last, xdr.Padding{Align: 16, Threshold: 5, Base: 8}, all, "hello", nil},
		{"to 8, aligned already", word + count5 + hello + last, xdr.Padding{Align: 8, Threshold: 5}, all, "hello", nil},
		{"to 64", word + count5 + pads(56) + hello + last, xdr.Padding{Align: 64}, all, "hello", nil},
		{"from an odd base", word + count5 + pads(1) + hello + last, xdr.Padding{Align: 2, Threshold: 5, Base: 1}, all, "hello", nil},
		{"below the threshold", word + count5 + hello + last, xdr.Padding{Align: 16, Threshold: 6}, all, "hello", nil},
		{"above the threshold", word + count5 + pads(8) + hello + last, xdr.Padding{Align: 16, Threshold: 4}, all, "hello", nil},
		{"nothing, no threshold", word + "00000000" + pads(8) + last, xdr.Padding{Align: 16}, all, "", nil},
		{"nothing, threshold 1", word + "00000000" + last, xdr.Padding{Align: 16, Threshold: 1}, all, "", nil},
		{"align 0", word + count5 + hello + last, xdr.Padding{Align: 0}, all, "hello", nil},
		{"align 1", word + count5 + hello + last, xdr.Padding{Align: 1, Base: 3}, all, "hello", nil},
		{"threshold out of reach", word + count5 + hello + last, xdr.Padding{Align: 16, Threshold: math.MaxInt}, all, "hello", nil},
		{"fixed is not counted", word + hello + last, xdr.Padding{Align: 16}, map[string]func(*xdr.Decoder) string{
			"fixed": func(d *xdr.Decoder) string { return string(d.Fixed(5)) },
		}, "hello", nil},
		{"raw is not counted", word + hello + last, xdr.Padding{Align: 16}, map[string]func(*xdr.Decoder) string{
			"raw": func(d *xdr.Decoder) string { return string(d.Raw(8)[:5]) },
		}, "hello", nil},
		{"array is not opaque", word + count5 + hello + last, xdr.Padding{Align: 16}, map[string]func(*xdr.Decoder) string{
			"array": func(d *xdr.Decoder) string { return string(d.Fixed(d.Count(9, 1))) },
		}, "hello", nil},
		{"missing", word + count5 + hello + last, xdr.Padding{Align: 16}, all, "", xdr.ErrShort},
		{"up to the end", word + count5 + pads(8), xdr.Padding{Align: 16}, all, "", xdr.ErrShort},
		{"beyond the end", word + count5 + pads(7), xdr.Padding{Align: 16}, all, "", xdr.ErrShort},
		{"far beyond the end", word + count5 + pads(8) + hello + last, xdr.Padding{Align: 1 << 30}, all, "", xdr.ErrShort},
		{"round-up is not padding", word + count5 + pads(8) + "68656c6c6f000001" + last, xdr.Padding{Align: 16}, all, "", xdr.ErrPadding},
		{"too long an item", word + "0000000a" + pads(8), xdr.Padding{Align: 16}, all, "", xdr.ErrLimit},
	} {
		for what, decode := range tt.decode {
			t.Run(tt.name+"/"+what, func(t *testing.T) {
				wire := unhex(t, tt.wire)
				d := xdr.NewDecoder(wire)
				d.SetPadding(tt.padding)
				d.Uint32()
				got := decode(d)
				if tt.err != nil {
					if !errors.Is(d.Err(), tt.err) || got != "" || d.Remaining() != 0 {
						t.Errorf("got %q, %v, want %v", got, d.Err(), tt.err)
					}
					return
				}
				end := d.Position()
				if got != tt.want || d.Uint32() != 2 || d.Finish() != nil {
					t.Fatalf("got %q, %v, want %q", got, d.Finish(), tt.want)
				}
				if want := len(wire) - 4 - bytes.Count(wire, []byte{0xa5}); end != want {
					t.Errorf("at byte %d behind the item, want %d: padding counts in no position", end, want)
				}
			})
		}
	}
}

// In a message with padding and chunks (RDMA_MSGP with a read list), positions are those of the
// stream without padding, and chunks have no padding.
func TestPaddingWithChunks(t *testing.T) {
	wire := unhex(t, `
		00000005 000000000000000000000000 68656c6c6f000000
		00000005
		00000001
		00000005 000000000000000000000000 776f726c64000000
		00000005
		00000002`)
	var d xdr.Decoder
	d.Reset(wire, []xdr.Chunk{
		{Position: xdr.Floating}, // unused
		{Position: xdr.Floating, Len: 8, Data: []byte("write")},
		{Position: 44, Len: 5, Data: []byte("reads")},
	})
	d.SetPadding(xdr.Padding{Align: 16, Threshold: 5})
	item := func() string { p, _ := d.Bulk(9).Bytes(t.Context()); return string(p) }
	got := [...]any{item(), item(), d.Uint32(), item(), item(), d.Uint32()}
	if want := [...]any{"hello", "write", uint32(1), "world", "reads", uint32(2)}; got != want {
		t.Errorf("got %v, want %v (%v)", got, want, d.Err())
	}
	if d.Finish() != nil || d.Position() != 56 {
		t.Errorf("%v at byte %d, want 56", d.Finish(), d.Position())
	}
}

// SetPadding counts from the first inline byte, wherever the decoder is.
func TestSetPaddingLate(t *testing.T) {
	wire := unhex(t, "00000001 00000005 0000000000000000 68656c6c6f000000")
	for words := range 2 {
		d := xdr.NewDecoder(wire)
		d.Raw(4 * words)
		d.SetPadding(xdr.Padding{Align: 16})
		d.Raw(4 * (1 - words))
		if got := d.String(5); got != "hello" || d.Finish() != nil {
			t.Errorf("behind %d words: got %q, %v", words, got, d.Finish())
		}
	}
}

// A sender pads the right items.
func TestAppendPadded(t *testing.T) {
	hello := []byte("hello")
	var e xdr.Encoder
	e.Uint32(1)
	e.Opaque(hello, 9) // never padded here
	e.BulkBytes(hello, nil)
	e.Uint32(2)
	e.Bulk([][]byte{[]byte("bu"), nil, []byte("lk of 9")}, nil)
	e.Uint32(3)
	m := e.Message()
	const (
		first  = "00000001 00000005 68656c6c6f000000 00000005 "
		five   = "68656c6c6f000000 "
		second = "00000002 00000009 "
		nine   = "62756c6b206f662039000000 "
		last   = "00000003"
	)
	for _, tt := range []struct {
		name    string
		base    int
		without []bool
		align   int
		thresh  int
		want    string
	}{
		{"both", 0, nil, 16, 5, first + zeros(12) + five + second + nine + last},
		{"both, from elsewhere", 24, nil, 16, 5, first + zeros(4) + five + second + nine + last},
		{"both, aligned already", 28, nil, 16, 5, first + five + second + nine + last},
		{"both, to 64", 0, nil, 64, 5, first + zeros(64-20) + five + second + zeros(128-80) + nine + last},
		{"the longer", 0, nil, 16, 6, first + five + second + zeros(12) + nine + last},
		{"the longer is as long as the threshold", 0, nil, 16, 9, first + five + second + zeros(12) + nine + last},
		{"none is long enough", 0, nil, 16, 10, first + five + second + nine + last},
		{"without the first", 0, []bool{true}, 16, 0, first + second + zeros(4) + nine + last},
		{"without the second", 0, []bool{false, true}, 16, 0, first + zeros(12) + five + second + last},
		{"without either", 0, []bool{true, true, true}, 16, 0, first + second + last},
		{"align 1", 0, nil, 1, 0, first + five + second + nine + last},
		{"align 0", 3, nil, 0, 0, first + five + second + nine + last},
		{"align 8", 4, nil, 8, 0, first + five + second + nine + last},
		{"align 2 from an odd place", 3, nil, 2, 0, first + "00" + five + second + nine + last},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Repeat([]byte{0xbb}, tt.base)
			got := m.AppendPadded(bytes.Clone(b), tt.without, tt.align, tt.thresh)
			if want := append(b, unhex(t, tt.want)...); !bytes.Equal(got, want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
			if n := m.PaddedLen(tt.base, tt.without, tt.align, tt.thresh); n != len(got)-tt.base {
				t.Errorf("PaddedLen is %d, want %d", n, len(got)-tt.base)
			}
		})
	}
}

// Padding is zero even if b's memory was used before.
func TestAppendPaddedClears(t *testing.T) {
	var e xdr.Encoder
	e.BulkBytes([]byte("data"), nil)
	m := e.Message()
	used := bytes.Repeat([]byte{0xff}, 40)
	got := m.AppendPadded(used[:0], nil, 32, 0)
	if want := unhex(t, "00000004"+zeros(28)+"64617461"); !bytes.Equal(got, want) || &got[0] != &used[0] {
		t.Errorf("got %x, want %x", got, want)
	}
}

// zeros returns n bytes of zeros in hexadecimal digits.
func zeros(n int) string { return strings.Repeat("00", n) + " " }
