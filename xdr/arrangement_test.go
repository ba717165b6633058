package xdr_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// field is an item of a stream, with the way it travels.
type field struct {
	kind  fieldKind
	data  []byte
	place place // of bulk data
	// whether bulk data takes an entry of the write list, which is empty unless the data travels
	// there
	entry bool
	loose bool // the chunk's length includes the round-up
	later bool // the chunk is not here yet
}

type fieldKind int

const (
	word fieldKind = iota
	fixedOpaque
	countedOpaque
	text
	bulkData
)

type place int

const (
	inline place = iota
	positioned
	floating
)

// arrangement is a stream with the way it reaches a receiver.
type arrangement struct {
	fields  []field
	padding xdr.Padding
	fill    byte // the bytes of padding
	entries int  // unused entries of the write list
	cut     int  // bytes in the first buffer

	// The results of layout.
	wire   []byte // the inline bytes
	chunks []xdr.Chunk
	src    source
	where  []int // each field's data in wire, or -1
	length int   // of the stream
}

func drawArrangement(t *rapid.T, threshold int, fill byte) *arrangement {
	a := &arrangement{fill: fill, padding: xdr.Padding{
		Align:     rapid.SampledFrom([]int{0, 1, 2, 4, 8, 16, 64}).Draw(t, "align"),
		Threshold: rapid.IntRange(threshold, 60).Draw(t, "threshold"),
		Base:      rapid.IntRange(0, 70).Draw(t, "base"),
	}}
	a.entries = rapid.IntRange(0, 4).Draw(t, "write list")
	for range rapid.IntRange(0, 12).Draw(t, "fields") {
		f := field{kind: fieldKind(rapid.IntRange(int(word), int(bulkData)).Draw(t, "kind"))}
		switch f.kind {
		case word:
			f.data = rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "word")
		case bulkData:
			f.data = rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bulk")
			f.place = rapid.SampledFrom([]place{inline, positioned}).Draw(t, "place")
			if f.entry = a.entries > 0; f.entry {
				a.entries--
				f.place = rapid.SampledFrom([]place{inline, positioned, floating}).Draw(t, "place")
			}
			// there is no read chunk of nothing, and no telling an entry unused
			if len(f.data) == 0 {
				if f.place = inline; f.entry {
					f.place = floating
				}
			}
			f.loose = rapid.Bool().Draw(t, "chunk with round-up")
			f.later = rapid.Bool().Draw(t, "later")
		default:
			f.data = rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "opaque")
		}
		a.fields = append(a.fields, f)
	}
	a.layout()
	a.cut = rapid.IntRange(0, len(a.wire)).Draw(t, "cut")
	return a
}

// layout encodes the stream as the draft says, without package xdr.
func (a *arrangement) layout() {
	var reads []xdr.Chunk
	for _, f := range a.fields {
		n := len(f.data)
		counted := f.kind != word && f.kind != fixedOpaque
		if counted {
			a.wire = append(a.wire, 0, 0, 0, byte(n))
			a.length += 4
		}
		whole := slices.Concat(f.data, make([]byte, []int{0, 3, 2, 1}[n%4]))
		if f.place == inline {
			for counted && a.padding.Align > 1 && n >= a.padding.Threshold && (a.padding.Base+len(a.wire))%a.padding.Align != 0 {
				a.wire = append(a.wire, a.fill)
			}
			a.where = append(a.where, len(a.wire))
			a.wire = append(a.wire, whole...)
			if f.entry {
				a.chunks = append(a.chunks, xdr.Chunk{Position: xdr.Floating})
			}
			a.length += len(whole)
			continue
		}
		a.where = append(a.where, -1)
		c := xdr.Chunk{Position: a.length, Len: n, Data: whole}
		a.length += len(whole)
		if f.loose {
			c.Len = len(whole)
		}
		if f.later {
			c.ID, c.Source = len(a.src.chunks), &a.src
			a.src.chunks = append(a.src.chunks, whole)
			c.Data = nil
		}
		if f.place == floating {
			c.Position = xdr.Floating
			a.chunks = append(a.chunks, c)
			continue
		}
		reads = append(reads, c)
		if f.entry {
			a.chunks = append(a.chunks, xdr.Chunk{Position: xdr.Floating})
		}
	}
	a.chunks = append(a.chunks, slices.Repeat([]xdr.Chunk{{Position: xdr.Floating}}, a.entries)...)
	a.chunks = append(a.chunks, reads...)
}

// decode decodes the first and second buffer, and returns the fields' data.
func (a *arrangement) decode(t *rapid.T, first, second []byte) ([][]byte, *xdr.Decoder) {
	var d xdr.Decoder
	d.Reset(first, a.chunks)
	d.AppendInline(second)
	d.SetPadding(a.padding)
	var got [][]byte
	for _, f := range a.fields {
		var p []byte
		switch f.kind {
		case word:
			p = d.Raw(4)
		case fixedOpaque:
			p = d.Fixed(len(f.data))
		case countedOpaque:
			p = d.Opaque(60)
		case text:
			p = []byte(d.String(60))
		case bulkData:
			b := d.Bulk(60)
			var err error
			if p, err = b.Bytes(t.Context()); err != nil || b.Len() != len(p) {
				t.Fatalf("%d bytes of %d, %v", len(p), b.Len(), err)
			}
		}
		got = append(got, p)
	}
	return got, &d
}

// However data travels (inline or padded, by read chunk or write chunk, in one buffer or two), the
// stream decodes to the same. Missing or misplaced bytes and chunks are errors.
func TestArrangements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArrangement(t, 0, 0xa5)
		first, second := a.wire[:a.cut:a.cut], a.wire[a.cut:]
		got, d := a.decode(t, first, second)
		if err := d.Finish(); err != nil || d.Position() != a.length || d.Remaining() != 0 {
			t.Fatalf("%v at byte %d of %d, %d remaining", err, d.Position(), a.length, d.Remaining())
		}
		fetched := 0
		for i, f := range a.fields {
			if f.place != inline && f.later && len(f.data) > 0 {
				fetched++
			}
			if !bytes.Equal(got[i], f.data) {
				t.Fatalf("field %d: got %x, want %x", i, got[i], f.data)
			}
			at := a.where[i]
			if f.kind == text || at < 0 || len(f.data) == 0 {
				continue
			}
			if across := at < a.cut && a.cut < at+xdr.RoundUp(len(f.data)); across == (&got[i][0] == &a.wire[at]) {
				t.Fatalf("field %d at %d, second buffer from %d: a copy: %v", i, at, a.cut, !across)
			}
		}
		if a.src.loaded != fetched {
			t.Fatalf("%d chunks fetched, want %d", a.src.loaded, fetched)
		}

		// Missing or surplus bytes.
		if n := rapid.IntRange(0, len(a.wire)).Draw(t, "truncated to"); n < len(a.wire) {
			cut := min(n, a.cut)
			if _, d := a.decode(t, a.wire[:cut], a.wire[cut:n]); d.Finish() == nil {
				t.Fatalf("%d of %d bytes decoded without an error", n, len(a.wire))
			}
		}
		if _, d := a.decode(t, first, append(bytes.Clone(second), 0)); !errors.Is(d.Finish(), xdr.ErrTrailing) {
			t.Fatalf("a byte more: got %v, want ErrTrailing", d.Finish())
		}
		// Misplaced or long chunks.
		if len(a.chunks) > 0 {
			i := rapid.IntRange(0, len(a.chunks)-1).Draw(t, "chunk")
			c := a.chunks[i]
			if c.Position != xdr.Floating {
				a.chunks[i].Position += rapid.SampledFrom([]int{-1, 1, -4, 4, 1 << 20}).Draw(t, "moved by")
				if _, d := a.decode(t, first, second); d.Finish() == nil {
					t.Fatalf("chunk of position %d at %d is taken", c.Position, a.chunks[i].Position)
				}
				a.chunks[i] = c
			}
			a.chunks[i].Len += 4 // more than any round-up
			if _, d := a.decode(t, first, second); !errors.Is(d.Finish(), xdr.ErrChunk) {
				t.Fatalf("chunk %d of %d bytes and not %d: got %v, want ErrChunk", i, a.chunks[i].Len, c.Len, d.Finish())
			}
		}
	})
}

// A sender encodes a message byte for byte as the draft says, and with the announced length.
func TestArrangementsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// opaque data that is not bulk data stays below the threshold
		a := drawArrangement(t, 31, 0)
		var e xdr.Encoder
		var without []bool
		for _, f := range a.fields {
			switch f.kind {
			case word:
				e.Raw(f.data)
			case fixedOpaque:
				e.Fixed(f.data)
			case countedOpaque:
				e.Opaque(f.data, 30)
			case text:
				e.String(string(f.data), 30)
			case bulkData:
				k := rapid.IntRange(0, len(f.data)).Draw(t, "piece")
				e.Bulk([][]byte{f.data[:k], f.data[k:]}, nil)
				without = append(without, f.place != inline)
			}
		}
		m := e.Message()
		if e.Err() != nil || m.Len() != a.length {
			t.Fatalf("message of %d bytes, want %d (%v)", m.Len(), a.length, e.Err())
		}
		in := bytes.Repeat([]byte{0xbb}, a.padding.Base)
		got := m.AppendPadded(slices.Clone(in), without, a.padding.Align, a.padding.Threshold)
		if want := slices.Concat(in, a.wire); !bytes.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
		if n := m.PaddedLen(len(in), without, a.padding.Align, a.padding.Threshold); n != len(a.wire) {
			t.Fatalf("PaddedLen is %d, want %d", n, len(a.wire))
		}
	})
}
