package chunks

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// offered is a write chunk of 100, 4 and 50 bytes.
var offered = WriteChunk{{1, 100, 0x1000}, {2, 4, 0x2000}, {3, 50, 0x3000}}

func withLengths(c WriteChunk, lengths ...uint32) WriteChunk {
	c = slices.Clone(c)
	for i, n := range lengths {
		c[i].Length = n
	}
	return c
}

func TestDistribute(t *testing.T) {
	tests := []struct {
		n    int
		want []uint32 // nil: does not fit
	}{
		{0, []uint32{0, 0, 0}},
		{1, []uint32{1, 0, 0}},
		{99, []uint32{99, 0, 0}},
		{100, []uint32{100, 0, 0}},
		{101, []uint32{100, 1, 0}},
		{104, []uint32{100, 4, 0}},
		{105, []uint32{100, 4, 1}},
		{154, []uint32{100, 4, 50}},
		{155, nil},
		{math.MaxInt, nil},
	}
	for _, tt := range tests {
		prefix := []Segment{{9, 9, 9}}
		got, ok := Distribute(prefix, offered, tt.n)
		if ok != (tt.want != nil) {
			t.Errorf("Distribute(%d) reports %v", tt.n, ok)
			continue
		}
		want := prefix
		if ok {
			want = append(slices.Clone(prefix), withLengths(offered, tt.want...)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Distribute(%d) (-want +got):\n%s", tt.n, diff)
		}
	}
	if _, ok := Distribute(nil, nil, 1); ok {
		t.Error("one byte fits in a chunk of no segments")
	}
	if got, ok := Distribute(nil, nil, 0); !ok || len(got) != 0 {
		t.Error("no bytes do not fit in a chunk of no segments")
	}
	huge := slices.Repeat(WriteChunk{{Length: math.MaxUint32}}, 3)
	if n := huge.Len(); n != 3*math.MaxUint32 {
		t.Errorf("Len() = %d of three segments of 2^32-1", n)
	}
}

func TestRoundUp(t *testing.T) {
	tests := []struct {
		name    string
		offered []uint32
		n       int
		want    []uint32
	}{
		{"nothing", []uint32{5, 5}, 0, []uint32{0, 0}},
		{"multiple of four", []uint32{100, 4, 50}, 100, []uint32{100, 0, 0}},
		{"by one", []uint32{100, 4, 50}, 7, []uint32{8, 0, 0}},
		{"by two", []uint32{100, 4, 50}, 6, []uint32{8, 0, 0}},
		{"by three", []uint32{100, 4, 50}, 5, []uint32{8, 0, 0}},
		{"up to the end of the first", []uint32{8, 4}, 5, []uint32{8, 0}},
		{"into the next", []uint32{5, 4}, 5, []uint32{5, 3}},
		{"into this one and the next", []uint32{6, 4}, 5, []uint32{6, 2}},
		{"into all that follow", []uint32{6, 1, 1}, 5, []uint32{6, 1, 1}},
		{"into all that follow, and beyond", []uint32{6, 1}, 5, []uint32{6, 2}},
		{"past one of no bytes", []uint32{5, 0, 4}, 5, []uint32{5, 0, 3}},
		{"beyond the end", []uint32{5}, 5, []uint32{8}},
		{"beyond the end by two", []uint32{6}, 5, []uint32{8}},
		{"beyond the end, one of no bytes behind", []uint32{5, 0}, 5, []uint32{8, 0}},
		{"beyond the end, one of no bytes in front", []uint32{0, 5}, 5, []uint32{0, 8}},
		{"in the last", []uint32{100, 4, 50}, 109, []uint32{100, 4, 8}},
		{"beyond the last", []uint32{100, 4, 49}, 153, []uint32{100, 4, 52}},
		{"no segments", nil, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c WriteChunk
			for i, n := range tt.offered {
				c = append(c, Segment{uint32(i), n, uint64(i) << 32})
			}
			got, ok := Distribute(nil, c, tt.n)
			if !ok {
				t.Fatal("does not fit")
			}
			AddRoundUp(got, c, tt.n)
			if diff := cmp.Diff(withLengths(c, tt.want...), WriteChunk(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Lists of Linux's, as offered and as they came back.
func TestFilledLinux(t *testing.T) {
	tests := []struct {
		name              string
		offered, returned WriteChunk
		want              int
	}{
		{
			"READ", // at the end of the file
			WriteChunk{{0x3ccc8604, 0xe000, 0x8e8ba1e8_88ee6000}},
			WriteChunk{{0x3ccc8604, 0xd3e1, 0x8e8ba1e8_88ee6000}},
			54241,
		},
		{
			"READDIRPLUS",
			WriteChunk{{0x908af802, 0x7c, 0x878ba1e8_893d5000}, {0x1976f002, 0x10000, 0x878ba1e8_9a1c3000}, {0x07fb3b01, 4, 0x878ba1e8_893d507c}},
			WriteChunk{{0x908af802, 0x7c, 0x878ba1e8_893d5000}, {0x1976f002, 0x5554, 0x878ba1e8_9a1c3000}, {0x07fb3b01, 0, 0x878ba1e8_893d507c}},
			21968,
		},
		{
			"GETACL", // which is used in part only
			WriteChunk{{0xe7f18b04, 0x100, 0x918ba1e8_893d4800}, {0x3cee6e03, 0x7000, 0x918ba1e8_98e99000}, {0x62b2bc02, 4, 0x918ba1e8_893d4900}},
			WriteChunk{{0xe7f18b04, 0x88, 0x918ba1e8_893d4800}, {0x3cee6e03, 0, 0x918ba1e8_98e99000}, {0x62b2bc02, 0, 0x918ba1e8_893d4900}},
			136,
		},
	}
	for _, tt := range tests {
		if got, ok := Distribute(nil, tt.offered, tt.want); !ok || !cmp.Equal(tt.returned, WriteChunk(got)) {
			t.Errorf("%s: filled here it would be %v", tt.name, got)
		}
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name    string
		offset  uint64
		n, size int
		want    []Segment
	}{
		{"nothing", 0x1000, 0, 100, nil},
		{"less than one", 0x1000, 99, 100, []Segment{{7, 99, 0x1000}}},
		{"exactly one", 0x1000, 100, 100, []Segment{{7, 100, 0x1000}}},
		{"one and a byte", 0x1000, 101, 100, []Segment{{7, 100, 0x1000}, {7, 1, 0x1064}}},
		{"three", 0, 300, 100, []Segment{{7, 100, 0}, {7, 100, 100}, {7, 100, 200}}},
		{"offset of 64 bits", 0xffffffff_ffffff00, 200, 128, []Segment{{7, 128, 0xffffffff_ffffff00}, {7, 72, 0xffffffff_ffffff80}}},
		{"largest segment", 0, math.MaxInt32, math.MaxInt, []Segment{{7, math.MaxInt32, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := AppendSegments(nil, 7, tt.offset, tt.n, tt.size)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := segments(tt.n, tt.size); n != len(tt.want) {
				t.Errorf("segments() = %d, want %d", n, len(tt.want))
			}
		})
	}
}

func TestFillProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c WriteChunk
		for i, n := range rapid.SliceOfN(rapid.Uint32Range(0, 50), 0, 6).Draw(t, "lengths") {
			c = append(c, Segment{uint32(i), n, uint64(i) << 32})
		}
		n := rapid.IntRange(0, 320).Draw(t, "n")
		got, ok := Distribute(nil, c, n)
		if ok != (uint64(n) <= c.Len()) {
			t.Fatalf("%d bytes in %d: %v", n, c.Len(), ok)
		}
		if !ok {
			return
		}
		if back := WriteChunk(got).Len(); back != uint64(n) {
			t.Fatalf("filled with %d: %v has %d", n, got, back)
		}
		AddRoundUp(got, c, n)
		if back := WriteChunk(got).Len(); back != uint64(xdr.RoundUp(n)) {
			t.Fatalf("filled with %d and its round-up: %v has %d", n, got, back)
		}
		over := int(WriteChunk(got).Len()) - int(c.Len())
		for i := range got { // only what there is no room for is beyond
			if d := int(got[i].Length) - int(c[i].Length); d > max(0, over) {
				t.Fatalf("%d bytes beyond segment %d, %d are beyond the chunk", d, i, over)
			}
		}
		size := rapid.IntRange(1, 100).Draw(t, "size")
		split := WriteChunk(AppendSegments(nil, 1, 1000, n, size))
		if split.Len() != uint64(n) || len(split) != segments(n, size) {
			t.Fatalf("%d bytes split by %d: %v", n, size, split)
		}
	})
}
