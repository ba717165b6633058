package xdr_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FuzzDecode decodes arbitrary bytes in two buffers, with arbitrary padding and chunks, as an
// arbitrary type. It must not panic or read outside the stream.
func FuzzDecode(f *testing.F) {
	for i, tt := range items {
		f.Add(unhex(f, tt.wire), []byte{byte(i), byte(i + 1)}, int16(0), int16(0), false, uint16(i), uint8(0), int16(0), int16(0))
	}
	bulk := byte(len(items))
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 1}, []byte{bulk, 0}, int16(4), int16(5), false, uint16(2), uint8(4), int16(8), int16(1))
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 1}, []byte{0, bulk + 1}, int16(4), int16(5), true, uint16(2), uint8(0), int16(0), int16(0))
	f.Add([]byte{0, 0, 0, 5}, []byte{bulk}, int16(-1), int16(8), true, uint16(9), uint8(0), int16(0), int16(0))
	f.Add([]byte{0, 0, 0, 4, 9, 9, 9, 9, 'd', 'a', 't', 'a'}, []byte{bulk}, int16(-1), int16(0), true, uint16(5), uint8(3), int16(4), int16(0))
	// Rest, with a stream that ends before the chunk.
	f.Add([]byte{0}, []byte{bulk + 1}, int16(28), int16(5), true, uint16(2), uint8(0), int16(0), int16(0))
	f.Fuzz(func(t *testing.T, inline, types []byte, position, size int16, lazily bool, cut uint16, align uint8, threshold, base int16) {
		var chunks []xdr.Chunk
		src := new(source)
		if size >= 0 && position >= xdr.Floating {
			c := xdr.Chunk{Position: int(position), Len: int(size), Data: make([]byte, size)}
			if lazily {
				src.chunks = [][]byte{c.Data}
				c.Data, c.Source = nil, src
			}
			chunks = append(chunks, c)
		}
		var d xdr.Decoder
		first := min(int(cut), len(inline))
		d.Reset(inline[:first], chunks)
		d.AppendInline(inline[first:])
		d.SetPadding(xdr.Padding{Align: 1 << (align % 31), Threshold: int(threshold), Base: max(0, int(base))})
		most := len(inline) + xdr.RoundUp(int(max(0, size)))
		for _, typ := range types {
			before := d.Position()
			left := d.Remaining()
			failed := d.Err() != nil
			switch n := int(typ) % (len(items) + 2); n {
			case len(items) + 1:
				p, err := d.Rest(t.Context(), 1<<16)
				if len(p) != d.Position()-before || (err == nil) != (d.Err() == nil) {
					t.Fatalf("rest of %d bytes from byte %d to %d, %v", len(p), before, d.Position(), err)
				}
			case len(items):
				b := d.Bulk(1 << 16)
				p, err := b.Bytes(t.Context())
				if err != nil || len(p) != b.Len() {
					t.Fatalf("%d bytes of %d, %v", len(p), b.Len(), err)
				}
			default:
				items[n].decode(&d)
			}
			if d.Position() < before || d.Position() > most || (failed && d.Position() != before) {
				t.Fatalf("from byte %d to %d of %d", before, d.Position(), most)
			}
			if d.Remaining() < 0 || d.Remaining() > left || (d.Err() != nil && d.Remaining() > 0) {
				t.Fatalf("%d bytes remain of %d (%v)", d.Remaining(), left, d.Err())
			}
		}
		if d.Finish() == nil && len(chunks) == 0 && (d.Position() > len(inline) || (align%31 == 0 && d.Position() != len(inline))) {
			t.Fatalf("finished at byte %d of %d", d.Position(), len(inline))
		}
	})
}

// FuzzRoundTrip encodes an arbitrary stream and decodes it with any of its bulk items as chunks.
func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed*0x9e3779b9)
	}
	f.Fuzz(func(t *testing.T, seed, mask uint64) {
		var e xdr.Encoder
		script(seed, &encoding{&e})
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
		m := e.Message()
		flat := m.AppendTo(nil)
		if len(flat) != m.Len() || len(flat) != e.Position() || len(flat)%xdr.Unit != 0 {
			t.Fatalf("%d bytes, length %d, position %d", len(flat), m.Len(), e.Position())
		}
		var without []bool
		var chunks []xdr.Chunk
		_, all := split(&m)
		for i, c := range all {
			beside := mask>>(i%64)&1 == 1
			if without = append(without, beside); beside {
				if (mask+uint64(i))%3 == 0 {
					c.Len = xdr.RoundUp(c.Len)
				}
				chunks = append(chunks, c)
			}
		}
		var d xdr.Decoder
		d.Reset(bytes.Join(m.AppendPieces(nil, without), nil), chunks)
		script(seed, &decoding{t, &d})
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		if d.Position() != len(flat) {
			t.Errorf("decoded %d bytes of %d", d.Position(), len(flat))
		}
	})
}

// coder encodes items, or decodes and compares them.
type coder interface {
	uint32(uint32)
	uint64(uint64)
	bool(bool)
	float32(float32)
	float64(float64)
	enum(state)
	optional(bool)
	fixed([]byte)
	opaque([]byte)
	string(string)
	bulk([][]byte)
}

// script runs the same arbitrary items and values through c each time.
func script(seed uint64, c coder) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range r.IntN(30) {
		p := make([]byte, r.IntN(20))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		switch r.IntN(11) {
		case 0:
			c.uint32(r.Uint32())
		case 1:
			c.uint64(r.Uint64())
		case 2:
			c.bool(r.IntN(2) == 1)
		case 3:
			c.fixed(p)
		case 4:
			c.opaque(p)
		case 5:
			c.string(string(p))
		case 6:
			cut := r.IntN(len(p) + 1)
			c.bulk([][]byte{p[:cut], p[cut:]})
		case 7:
			c.float32(r.Float32())
		case 8:
			c.float64(r.Float64())
		case 9:
			c.enum(states[r.IntN(len(states))])
		case 10:
			c.optional(r.IntN(2) == 1)
		}
	}
}

type encoding struct{ e *xdr.Encoder }

func (c *encoding) uint32(v uint32)   { c.e.Uint32(v) }
func (c *encoding) uint64(v uint64)   { c.e.Uint64(v) }
func (c *encoding) bool(v bool)       { c.e.Bool(v) }
func (c *encoding) float32(v float32) { c.e.Float32(v) }
func (c *encoding) float64(v float64) { c.e.Float64(v) }
func (c *encoding) enum(v state)      { c.e.Int32(int32(v)) }
func (c *encoding) optional(v bool)   { c.e.Optional(v) }
func (c *encoding) fixed(p []byte)    { c.e.Fixed(p) }
func (c *encoding) opaque(p []byte)   { c.e.Opaque(p, len(p)) }
func (c *encoding) string(s string)   { c.e.String(s, len(s)) }
func (c *encoding) bulk(p [][]byte)   { c.e.Bulk(p, nil) }

type decoding struct {
	t *testing.T
	d *xdr.Decoder
}

func (c *decoding) uint32(v uint32)   { same(c, c.d.Uint32(), v) }
func (c *decoding) uint64(v uint64)   { same(c, c.d.Uint64(), v) }
func (c *decoding) bool(v bool)       { same(c, c.d.Bool(), v) }
func (c *decoding) float32(v float32) { same(c, c.d.Float32(), v) }
func (c *decoding) float64(v float64) { same(c, c.d.Float64(), v) }
func (c *decoding) enum(v state)      { same(c, xdr.DecodeEnum(c.d, states...), v) }
func (c *decoding) optional(v bool)   { same(c, c.d.Optional(), v) }
func (c *decoding) fixed(p []byte)    { same(c, string(c.d.Fixed(len(p))), string(p)) }
func (c *decoding) opaque(p []byte)   { same(c, string(c.d.Opaque(len(p))), string(p)) }
func (c *decoding) string(s string)   { same(c, c.d.String(len(s)), s) }

func (c *decoding) bulk(p [][]byte) {
	want := bytes.Join(p, nil)
	got, err := c.d.Bulk(len(want)).Bytes(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	same(c, string(got), string(want))
}

func same[T comparable](c *decoding, got, want T) {
	c.t.Helper()
	if got != want {
		c.t.Fatalf("at byte %d: got %v, want %v (%v)", c.d.Position(), got, want, c.d.Err())
	}
}
