package wire

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
// (padding_test.go).

// TestThreshold checks that rdma_thresh is as configured, or as near to it as is possible.
func TestThreshold(t *testing.T) {
	const inline = 40 // so opaque data of 36 bytes is possible
	for _, tt := range []struct {
		lengths []int
		least   int
		want    int
		ok      bool
	}{
		{[]int{2000}, 1024, 1024, true},
		{[]int{100}, 8, inline, true},
		{[]int{1024, 1022, 1023, 1021}, 1024, 1020, true},
		{[]int{40, 39, 38}, 8, 37, true},
		{[]int{40, 39, 38, 37, 5000}, 8, 0, false},
		{[]int{1000, 39}, 1024, 0, false},
	} {
		m := xdr.Message{Inline: make([]byte, inline)}
		for _, n := range tt.lengths {
			m.Bulk = append(m.Bulk, xdr.BulkItem{Len: n})
		}
		if got, ok := threshold(&m, nil, tt.least); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: threshold %d, %v", tt, got, ok)
		}
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
		padding := Pad(h, &m, without, align, most, least)
		ok, thresh := padding > 0 || h.Type == TypeMsgP, int(h.Threshold)
		if ok != (h.Type == TypeMsgP) {
			rt.Fatalf("%v, and padded is %v", h.Type, ok)
		}
		if !ok {
			return
		}
		b := AppendPadded(h.Append(nil), h, &m, without)
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
			pad, err := Padding(&n, at, 65536, above)
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
			msg := Message{b[at:split], b[split:], pad}
			var d xdr.Decoder
			msg.Decode(&d, besides)
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
