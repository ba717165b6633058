package rpcrdma

import (
	"bytes"
	"context"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// These tests are inside the package for the choice of the threshold: all lengths of opaque data
// around it, in messages that are not sent. What padded messages look like is tested from outside
// (msgp_test.go).

// TestThreshold checks the choice of rdma_thresh: it is above the length of all opaque data that is
// not padded, and not equal to that of any that is.
func TestThreshold(t *testing.T) {
	const inline = 40 // so opaque data of 36 bytes is possible
	tests := []struct {
		name    string
		lengths []int
		without []bool
		least   int
		want    int
		ok      bool
	}{
		{"as the configuration says", []int{2000}, nil, 1024, 1024, true},
		{"as long as what is inline", []int{100}, nil, 8, inline, true},
		{"data of that length", []int{1024, 5}, nil, 1024, 1023, true},
		{"data of many lengths", []int{1024, 1022, 1023, 1021}, nil, 1024, 1020, true},
		{"no data as long", []int{1000, 39}, nil, 1024, 0, false},
		{"no data as long as what is inline", []int{39}, nil, 8, 0, false},
		{"data of length, least possible", []int{40, 39, 38}, nil, 8, 37, true},
		{"data of every length possible", []int{40, 39, 38, 37}, nil, 8, 0, false},
		{"longer data beside that", []int{40, 39, 38, 37, 5000}, nil, 8, 0, false},
		{"what is long goes another way", []int{2000, 100}, []bool{true, false}, 1024, 0, false},
		{"some of it does", []int{2000, 2000}, []bool{true}, 1024, 1024, true},
		{"no data", nil, nil, 1024, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := xdr.Message{Inline: make([]byte, inline)}
			for _, n := range tt.lengths {
				m.Bulk = append(m.Bulk, xdr.BulkItem{Len: n})
			}
			if got, ok := threshold(&m, tt.without, tt.least); got != tt.want || ok != tt.ok {
				t.Errorf("threshold %d, %v, want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestPaddingNotAmbiguous pads random messages. A receiver decodes the same whether it reads the
// threshold as "at or above" or as "exceeds", and padded data is aligned.
func TestPaddingNotAmbiguous(t *testing.T) {
	length := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, 400), rapid.SampledFrom([]int{63, 64, 65, 127, 128, 129}))
	type item struct {
		bulk bool
		data []byte
	}
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) item {
			return item{rapid.Bool().Draw(rt, "bulk"), pattern(rapid.Uint64().Draw(rt, "seed"), length.Draw(rt, "length"))}
		}), 0, 8).Draw(rt, "items")
		var e xdr.Encoder
		for _, it := range all {
			if it.bulk {
				e.BulkBytes(it.data, nil)
			} else {
				e.Opaque(it.data, 1<<20)
			}
		}
		m := e.Message()
		var without []bool
		for range m.Bulk {
			without = append(without, rapid.IntRange(0, 3).Draw(rt, "beside") == 0)
		}
		align, most := 1<<rapid.IntRange(3, 10).Draw(rt, "align"), rapid.SampledFrom([]int{1024, 4096, 65536}).Draw(rt, "inline")
		least := rapid.SampledFrom([]int{1, 10, 64, 200}).Draw(rt, "least")
		h := header(1, TypeMsg)
		thresh, padding, ok := padHeader(h, &m, without, align, most, least)
		if ok != (h.Type == TypeMsgP) {
			rt.Fatalf("%v, and padded is %v", h.Type, ok)
		}
		if !ok {
			return
		}
		b := m.AppendPadded(h.Append(nil), without, align, thresh)
		if !bytes.Equal(b, padded(h, &m, without, thresh, 0)) {
			rt.Fatal("laid out in another way than section 3.9 says")
		}
		inline := 0
		for _, p := range m.AppendPieces(nil, without) {
			inline += len(p)
		}
		if len(b) > most || len(b) != h.Len()+inline+padding {
			rt.Errorf("message of %d bytes: %d of header, %d of message, %d of padding; %d allowed", len(b), h.Len(), inline, padding, most)
		}
		var n Header
		at, err := n.Parse(b)
		if err != nil {
			rt.Fatal(err)
		}
		for _, above := range []bool{false, true} {
			pad, err := n.padding(at, 65536, above)
			if err != nil {
				rt.Fatal(err)
			}
			var besides []xdr.Chunk
			for i, it := range m.Bulk {
				if without[i] && it.Len > 0 {
					besides = append(besides, xdr.Chunk{Position: it.Position, Len: it.Len, Data: it.Data[0]})
				}
			}
			split := rapid.IntRange(at, len(b)).Draw(rt, "border")
			msg := message{b[at:split], b[split:], pad}
			var d xdr.Decoder
			d.Reset(msg.body, besides)
			msg.decode(&d)
			k := 0
			for i, it := range all {
				var got []byte
				if it.bulk {
					got, _ = d.Bulk(1 << 20).Bytes(context.Background())
					if len(it.data) > thresh && !without[k] {
						if off := bytes.Index(b, it.data); off%align != 0 && bytes.Count(b, it.data) == 1 {
							rt.Errorf("item %d of %d bytes at %d, padded to %d", i, len(it.data), off, align)
						}
					}
					k++
				} else {
					got = d.Opaque(1 << 20)
				}
				if !bytes.Equal(got, it.data) {
					rt.Errorf("above %v: item %d of %d bytes differs: %v", above, i, len(it.data), d.Err())
				}
			}
			if err := d.Finish(); err != nil {
				rt.Errorf("above %v: %v", above, err)
			}
		}
		if bits.OnesCount32(h.Align) != 1 {
			rt.Errorf("align %d", h.Align)
		}
	})
}
