package xdr_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Rest returns the same bytes whether bulk data came as chunks or not, in one buffer or two.
func TestRest(t *testing.T) {
	for name, m := range messages() {
		whole := m.AppendTo(nil)
		for mask := range 1 << len(m.Bulk) {
			for _, lazily := range []bool{false, true} {
				var src source
				var without []bool
				var chunks []xdr.Chunk
				_, all := split(m)
				for i, c := range all {
					beside := mask>>i&1 == 1
					if without = append(without, beside); !beside {
						continue
					}
					if i%2 == 1 {
						c.Len = xdr.RoundUp(c.Len)
						c.Data = append(c.Data, make([]byte, xdr.PadLen(len(c.Data)))...)
					}
					if lazily {
						c.ID = len(src.chunks)
						src.chunks = append(src.chunks, c.Data)
						c.Data, c.Source = nil, &src
					}
					chunks = append(chunks, c)
				}
				inline := bytes.Join(m.AppendPieces(nil, without), nil)
				for cut := range len(inline) + 1 {
					var d xdr.Decoder
					d.Reset(inline[:cut], chunks)
					d.AppendInline(inline[cut:])
					got, err := d.Rest(t.Context(), len(whole))
					if err != nil || !bytes.Equal(got, whole) || d.Finish() != nil || d.Position() != len(whole) {
						t.Fatalf("%s without %v, cut at %d: got %x, %v, want %x", name, without, cut, got, err, whole)
					}
				}
			}
		}
	}
}

// TestRestBehindItems: Rest leaves out what was decoded already.
func TestRestBehindItems(t *testing.T) {
	wire := unhex(t, "00000001 00000005 00000002")
	var d xdr.Decoder
	d.Reset(wire, []xdr.Chunk{{Position: xdr.Floating}, {Position: 8, Len: 5, Data: []byte("hello")}})
	d.Uint32()
	got, err := d.Rest(t.Context(), 16)
	want := unhex(t, "00000005 68656c6c6f000000 00000002")
	if err != nil || !bytes.Equal(got, want) || d.Finish() != nil {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
	if got, err := d.Rest(t.Context(), 0); err != nil || len(got) != 0 {
		t.Errorf("behind the end: %x, %v", got, err)
	}
}

// Rest does not copy a single buffer, and its result has no extra capacity.
func TestRestRefers(t *testing.T) {
	wire := unhex(t, "00000001 00000002 00000003")
	d := xdr.NewDecoder(wire[:8])
	d.Uint32()
	got, err := d.Rest(t.Context(), 4)
	if err != nil || len(got) != 4 || cap(got) != 4 || &got[0] != &wire[4] {
		t.Errorf("got %x with capacity %d, %v", got, cap(got), err)
	}
}

func TestRestErrors(t *testing.T) {
	const wire = "00000001 00000005 00000002"
	five := []byte("hello\x00\x00\x00")
	at := func(positions ...int) (chunks []xdr.Chunk) {
		for _, p := range positions {
			chunks = append(chunks, xdr.Chunk{Position: p, Len: 5, Data: five})
		}
		return chunks
	}
	for _, tt := range []struct {
		name   string
		chunks []xdr.Chunk
		pad    int
		max    int
		want   error
	}{
		{"as long as allowed", at(8), 0, 20, nil},
		{"longer", at(8), 0, 19, xdr.ErrLimit},
		{"longer without chunks", nil, 0, 11, xdr.ErrLimit},
		{"a chunk that lies", []xdr.Chunk{{Position: 8, Len: math.MaxInt32, Data: five}}, 0, 1 << 20, xdr.ErrLimit},
		{"less data than it says", []xdr.Chunk{{Position: 8, Len: 9, Data: five}}, 0, 100, xdr.ErrChunk},
		{"at the end", at(12), 0, 100, nil},
		{"behind the end", at(13), 0, 100, xdr.ErrShort},
		{"far behind the end", at(math.MaxInt32), 0, 100, xdr.ErrShort},
		{"two at one place", at(8, 8), 0, 100, xdr.ErrChunk},
		{"one inside the other", at(4, 9), 0, 100, xdr.ErrChunk},
		{"one behind the other", at(4, 12), 0, 100, nil},
		{"floating", at(xdr.Floating), 0, 100, xdr.ErrChunk},
		{"floating and unused", []xdr.Chunk{{Position: xdr.Floating}}, 0, 100, nil},
		{"padded", nil, 16, 100, xdr.ErrChunk},
		{"aligned to 1", nil, 1, 100, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d xdr.Decoder
			d.Reset(unhex(t, wire), tt.chunks)
			d.SetPadding(xdr.Padding{Align: tt.pad})
			p, err := d.Rest(t.Context(), tt.max)
			if !errors.Is(err, tt.want) || !errors.Is(d.Err(), tt.want) || (tt.want != nil && p != nil) {
				t.Errorf("got %x, %v, decoder %v, want %v", p, err, d.Err(), tt.want)
			}
		})
	}
}

// A failed fetch is not the decoder's error.
func TestRestFetchFails(t *testing.T) {
	src := &source{chunks: [][]byte{[]byte("hello")}, err: errors.New("connection lost")}
	var d xdr.Decoder
	d.Reset(unhex(t, "00000005"), []xdr.Chunk{{Position: 4, Len: 5, Source: src}})
	if p, err := d.Rest(t.Context(), 100); p != nil || err != src.err || d.Err() != nil {
		t.Errorf("got %x, %v, decoder %v", p, err, d.Err())
	}
}
