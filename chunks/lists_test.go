package chunks

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// golden are lists and their encoding. Those that name Linux were sent by Linux 6.1's NFS/RDMA
// client and server.
var golden = []struct {
	name string
	hex  string
	want Lists
}{
	{
		name: "empty",
		hex:  "00000000 00000000 00000000",
	},
	{
		name: "Linux WRITE call: read chunk",
		hex: `00000001 00000070 908af803 00010d43 9b8ba1e8 88f44000
			00000000 00000000 00000000`,
		want: Lists{Reads: []ReadSegment{{0x70, Segment{0x908af803, 68931, 0x9b8ba1e8_88f44000}}}},
	},
	{
		name: "Linux READ call: write chunk",
		hex: `00000000
			00000001 00000001 3ccc8604 0000e000 8e8ba1e8 88ee6000
			00000000 00000000`,
		want: Lists{Writes: []WriteChunk{{{0x3ccc8604, 0xe000, 0x8e8ba1e8_88ee6000}}}},
	},
	{
		name: "Linux READ reply: write chunk filled in part",
		hex: `00000000
			00000001 00000001 3ccc8604 0000d3e1 8e8ba1e8 88ee6000
			00000000 00000000`,
		want: Lists{Writes: []WriteChunk{{{0x3ccc8604, 54241, 0x8e8ba1e8_88ee6000}}}},
	},
	{
		name: "Linux READDIRPLUS call: reply chunk",
		hex: `00000000 00000000
			00000001 00000003
			908af802 0000007c 878ba1e8 893d5000
			1976f002 00010000 878ba1e8 9a1c3000
			07fb3b01 00000004 878ba1e8 893d507c`,
		want: Lists{HasReply: true, Reply: WriteChunk{
			{0x908af802, 0x7c, 0x878ba1e8_893d5000},
			{0x1976f002, 0x10000, 0x878ba1e8_9a1c3000},
			{0x07fb3b01, 4, 0x878ba1e8_893d507c},
		}},
	},
	{
		name: "everything at once",
		hex: `00000001 00000000 00000001 00000010 00000000 00000100
			00000001 00000000 00000002 00000020 00000000 00000200
			00000001 00000040 00000003 00000030 00000000 00000300
			00000000
			00000001 00000002 00000004 00000040 00000000 00000400 00000005 00000050 00000000 00000500
			00000001 00000000
			00000001 00000001 00000006 00000060 00000000 00000600
			00000000
			00000001 00000001 00000007 ffffffff ffffffff ffffffff`,
		want: Lists{
			Reads: []ReadSegment{
				{0, Segment{1, 0x10, 0x100}},
				{0, Segment{2, 0x20, 0x200}},
				{0x40, Segment{3, 0x30, 0x300}},
			},
			Writes: []WriteChunk{
				{{4, 0x40, 0x400}, {5, 0x50, 0x500}},
				{},
				{{6, 0x60, 0x600}},
			},
			Reply:    WriteChunk{{7, 0xffffffff, 0xffffffff_ffffffff}},
			HasReply: true,
		},
	},
	{
		name: "reply chunk of no segments",
		hex:  "00000000 00000000 00000001 00000000",
		want: Lists{HasReply: true},
	},
}

// sameLists compares two Lists as they appear on the wire.
var sameLists = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Lists{})}

func TestListsGolden(t *testing.T) {
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			var got Lists
			d := xdr.NewDecoder(b)
			if err := got.Decode(d); err != nil {
				t.Fatal(err)
			}
			if err := d.Finish(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, got, sameLists); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(b, tt.want.Append(nil)); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			if n := tt.want.Len(); n != len(b) {
				t.Errorf("Len() = %d, encoded %d", n, len(b))
			}
		})
	}
}

func TestListsTruncated(t *testing.T) {
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			for i := range b {
				got := Lists{Reads: make([]ReadSegment, 1)}
				err := got.Decode(xdr.NewDecoder(b[:i]))
				if !errors.Is(err, ErrMalformed) || !errors.Is(err, xdr.ErrShort) {
					t.Fatalf("first %d of %d bytes: error %v, want ErrMalformed that wraps xdr.ErrShort", i, len(b), err)
				}
				if diff := cmp.Diff(Lists{}, got, sameLists); diff != "" {
					t.Fatalf("first %d of %d bytes leave (-want +got):\n%s", i, len(b), diff)
				}
			}
		})
	}
}

func TestListsRefused(t *testing.T) {
	words := func(w ...uint32) []byte {
		var b []byte
		for _, w := range w {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	reads := func(n int) []byte {
		l := Lists{Reads: make([]ReadSegment, n)}
		return l.Append(nil)
	}
	writes := func(chunks, segments int) []byte {
		var l Lists
		for range chunks {
			l.AddWrite(make([]Segment, segments))
		}
		return l.Append(nil)
	}
	full := Lists{Reads: make([]ReadSegment, MaxSegments-2)}
	full.AddWrite(make([]Segment, 1))
	full.SetReply(make([]Segment, 1))
	over := Lists{Reads: make([]ReadSegment, MaxSegments-2)}
	over.AddWrite(make([]Segment, 1))
	over.SetReply(make([]Segment, 2))

	tests := []struct {
		name string
		b    []byte
		want error // nil: accepted
	}{
		{"most read segments", reads(MaxSegments), nil},
		{"one read segment too many", reads(MaxSegments + 1), xdr.ErrLimit},
		{"most segments in one write chunk", writes(1, MaxSegments), nil},
		{"one segment too many in a write chunk", writes(1, MaxSegments+1), xdr.ErrLimit},
		{"most write chunks", writes(MaxSegments, 1), nil},
		{"one write chunk too many", writes(MaxSegments+1, 0), xdr.ErrLimit},
		{"most segments in all three lists", full.Append(nil), nil},
		{"one too many in all three lists", over.Append(nil), xdr.ErrLimit},
		// A count is believed neither over the limit nor over what is there.
		{"write chunk of 2^32-1 segments", words(0, 1, 0xffffffff), xdr.ErrLimit},
		{"reply chunk of 2^32-1 segments", words(0, 0, 1, 0xffffffff), xdr.ErrLimit},
		{"write chunk of 2^28 segments, 2^32 bytes", words(0, 1, 1<<28, 0), xdr.ErrLimit},
		{"write chunk of 1024 segments that are not there", words(0, 1, MaxSegments, 1, 2, 3), xdr.ErrShort},
		{"reply chunk of 1024 segments that are not there", words(0, 0, 1, MaxSegments), xdr.ErrShort},
		// An optional is present or not (RFC 4506 section 4.19).
		{"read list neither present nor absent", words(2, 0, 0, 0, 0, 0, 0, 0, 0), xdr.ErrValue},
		{"write list neither present nor absent", words(0, 0xffffffff, 0, 0), xdr.ErrValue},
		{"reply chunk neither present nor absent", words(0, 0, 2, 0), xdr.ErrValue},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l Lists
			err := l.Decode(xdr.NewDecoder(tt.b))
			if tt.want == nil && err == nil {
				return
			}
			if !errors.Is(err, tt.want) || !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v, want ErrMalformed that wraps %v", err, tt.want)
			}
			if n := cap(l.segs); n > 2*MaxSegments {
				t.Errorf("room for %d segments was made", n)
			}
		})
	}
}

// Lists are decoded again and again into the same memory.
func TestListsDecodeReuse(t *testing.T) {
	var l Lists
	for range 2 {
		for _, tt := range golden {
			if err := l.Decode(xdr.NewDecoder(unhex(t, tt.hex))); err != nil {
				t.Fatal(tt.name, err)
			}
			if diff := cmp.Diff(tt.want, l, sameLists); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
	b := unhex(t, golden[len(golden)-2].hex)
	var d xdr.Decoder
	if n := testing.AllocsPerRun(100, func() {
		d.Reset(b, nil)
		if err := l.Decode(&d); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations in the steady state", n)
	}
}

// What is added later does not move or overwrite what was added before.
func TestListsBuild(t *testing.T) {
	var l Lists
	scratch := make([]Segment, 0, 8)
	want := Lists{HasReply: true}
	for i := range 20 {
		scratch = AppendSegments(scratch[:0], uint32(i), uint64(i)<<32, 10*i, 40)
		l.AddWrite(scratch)
		want.Writes = append(want.Writes, append(WriteChunk(nil), scratch...))
	}
	scratch = AppendSegments(scratch[:0], 99, 0, 100, 40)
	l.SetReply(scratch)
	want.Reply = append(WriteChunk(nil), scratch...)
	clear(scratch)
	if diff := cmp.Diff(want, l, sameLists); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	l.Reset()
	if diff := cmp.Diff(Lists{}, l, sameLists); diff != "" {
		t.Errorf("after Reset (-want +got):\n%s", diff)
	}
}

func TestListsRoundTrip(t *testing.T) {
	segment := rapid.Custom(func(t *rapid.T) Segment {
		return Segment{
			Handle: rapid.Uint32().Draw(t, "handle"),
			Length: rapid.Uint32().Draw(t, "length"),
			Offset: rapid.Uint64().Draw(t, "offset"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var want Lists
		for _, s := range rapid.SliceOfN(segment, 0, 20).Draw(t, "reads") {
			want.Reads = append(want.Reads, ReadSegment{rapid.Uint32().Draw(t, "position"), s})
		}
		for _, c := range rapid.SliceOfN(rapid.SliceOfN(segment, 0, 6), 0, 6).Draw(t, "writes") {
			want.AddWrite(c)
		}
		if rapid.Bool().Draw(t, "reply") {
			want.SetReply(rapid.SliceOfN(segment, 0, 6).Draw(t, "reply chunk"))
		}
		prefix := []byte("before")
		b := want.Append(prefix)[len(prefix):]
		if len(b) != want.Len() {
			t.Fatalf("Len() = %d, encoded %d", want.Len(), len(b))
		}
		var got Lists
		d := xdr.NewDecoder(b)
		if err := errors.Join(got.Decode(d), d.Finish()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameLists); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestOneHandle(t *testing.T) {
	r, w := ReadSegment{0, Segment{Handle: 7}}, WriteChunk{{Handle: 7}}
	other := Segment{Handle: 8}
	tests := []struct {
		name string
		l    Lists
		want bool
	}{
		{"no segment", Lists{Writes: []WriteChunk{{}}, HasReply: true}, false},
		{"one read segment", Lists{Reads: []ReadSegment{r}}, true},
		{"one write segment", Lists{Writes: []WriteChunk{{}, w}}, true},
		{"one reply segment", Lists{Reply: w, HasReply: true}, true},
		{"the same in all lists", Lists{Reads: []ReadSegment{r, r}, Writes: []WriteChunk{w, {w[0], w[0]}}, Reply: w}, true},
		{"another in the read list", Lists{Reads: []ReadSegment{r, {0, other}}}, false},
		{"another in the write list", Lists{Reads: []ReadSegment{r}, Writes: []WriteChunk{w, {other}}}, false},
		{"another in the reply chunk", Lists{Writes: []WriteChunk{w}, Reply: WriteChunk{w[0], other}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, ok := tt.l.OneHandle()
			if ok != tt.want || (ok && h != 7) {
				t.Errorf("OneHandle() = %d, %v, want %v", h, ok, tt.want)
			}
		})
	}
}

func FuzzLists(f *testing.F) {
	for _, tt := range golden {
		f.Add(unhex(f, tt.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second Lists
		d := xdr.NewDecoder(b)
		if err := first.Decode(d); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v does not wrap ErrMalformed", err)
			}
			return
		}
		again := first.Append(nil)
		if string(again) != string(b[:d.Position()]) {
			t.Fatalf("decoded and encoded again:\n%x\n%x", b[:d.Position()], again)
		}
		if len(again) != first.Len() {
			t.Fatalf("Len() = %d, encoded %d", first.Len(), len(again))
		}
		if err := second.Decode(xdr.NewDecoder(again)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second, sameLists); diff != "" {
			t.Fatalf("decoded twice (-first +second):\n%s", diff)
		}
	})
}

// unhex decodes hexadecimal digits; white space is for the reader.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
