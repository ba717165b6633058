package chunks

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// at is a read segment. Its handle identifies it.
func at(position, handle, length uint32) ReadSegment {
	return ReadSegment{position, Segment{Handle: handle, Length: length}}
}

func TestReadChunks(t *testing.T) {
	tests := []struct {
		name  string
		reads []ReadSegment
		limit int // 0: 1 MiB
		want  []ReadChunk
		fail  bool
		over  bool // the limit
	}{
		{name: "none"},
		{
			name:  "one",
			reads: []ReadSegment{at(40, 1, 1000)},
			want:  []ReadChunk{{40, 1000, []ReadSegment{at(40, 1, 1000)}}},
		},
		{
			name:  "sorted by position",
			reads: []ReadSegment{at(400, 3, 8), at(0, 1, 200), at(48, 2, 12)},
			want: []ReadChunk{
				{0, 200, []ReadSegment{at(0, 1, 200)}},
				{48, 12, []ReadSegment{at(48, 2, 12)}},
				{400, 8, []ReadSegment{at(400, 3, 8)}},
			},
		},
		{
			name:  "segments of one position are one chunk, in their order",
			reads: []ReadSegment{at(40, 1, 100), at(40, 2, 1), at(40, 3, 3)},
			want:  []ReadChunk{{40, 104, []ReadSegment{at(40, 1, 100), at(40, 2, 1), at(40, 3, 3)}}},
		},
		{
			name:  "so they are when others stand between them",
			reads: []ReadSegment{at(400, 1, 8), at(40, 2, 7), at(400, 3, 9), at(40, 4, 5)},
			want: []ReadChunk{
				{40, 12, []ReadSegment{at(40, 2, 7), at(40, 4, 5)}},
				{400, 17, []ReadSegment{at(400, 1, 8), at(400, 3, 9)}},
			},
		},
		{
			name:  "several at position zero",
			reads: []ReadSegment{at(0, 1, 100), at(0, 2, 200)},
			want:  []ReadChunk{{0, 300, []ReadSegment{at(0, 1, 100), at(0, 2, 200)}}},
		},
		{name: "position 41", reads: []ReadSegment{at(41, 1, 4)}, fail: true},
		{name: "position 42", reads: []ReadSegment{at(42, 1, 4)}, fail: true},
		{name: "position 43 of no bytes", reads: []ReadSegment{at(43, 1, 0)}, fail: true},
		{
			name:  "one begins where another ends",
			reads: []ReadSegment{at(40, 1, 8), at(48, 2, 8)},
			want:  []ReadChunk{{40, 8, []ReadSegment{at(40, 1, 8)}}, {48, 8, []ReadSegment{at(48, 2, 8)}}},
		},
		{
			name:  "one begins where the round-up of another ends",
			reads: []ReadSegment{at(40, 1, 5), at(48, 2, 8)},
			want:  []ReadChunk{{40, 5, []ReadSegment{at(40, 1, 5)}}, {48, 8, []ReadSegment{at(48, 2, 8)}}},
		},
		{
			name:  "round-up as a chunk of its own",
			reads: []ReadSegment{at(45, 3, 3), at(40, 1, 2), at(48, 4, 8), at(40, 2, 3), at(56, 5, 7), at(63, 6, 1)},
			want: []ReadChunk{
				{40, 8, []ReadSegment{at(40, 1, 2), at(40, 2, 3), at(45, 3, 3)}},
				{48, 8, []ReadSegment{at(48, 4, 8)}},
				{56, 8, []ReadSegment{at(56, 5, 7), at(63, 6, 1)}},
			},
		},
		{
			name:  "in two segments",
			reads: []ReadSegment{at(40, 1, 6), at(46, 2, 1), at(46, 3, 1)},
			want:  []ReadChunk{{40, 8, []ReadSegment{at(40, 1, 6), at(46, 2, 1), at(46, 3, 1)}}},
		},
		{
			name:  "the limit counts it",
			reads: []ReadSegment{at(40, 1, 5), at(45, 2, 3)},
			limit: 8,
			want:  []ReadChunk{{40, 8, []ReadSegment{at(40, 1, 5), at(45, 2, 3)}}},
		},
		{name: "over the limit with it", reads: []ReadSegment{at(40, 1, 5), at(45, 2, 3)}, limit: 7, fail: true, over: true},
		{name: "some of it", reads: []ReadSegment{at(40, 1, 5), at(45, 2, 2)}, fail: true},
		{name: "more than it", reads: []ReadSegment{at(40, 1, 5), at(45, 2, 7)}, fail: true},
		{name: "none of it", reads: []ReadSegment{at(40, 1, 5), at(45, 2, 0)}, fail: true},
		{name: "it and more behind it", reads: []ReadSegment{at(40, 1, 5), at(45, 2, 3), at(45, 3, 4)}, fail: true},
		{name: "it a byte behind the data", reads: []ReadSegment{at(40, 1, 5), at(46, 2, 2)}, fail: true},
		{name: "it in front of the data", reads: []ReadSegment{at(40, 1, 6), at(45, 2, 2)}, fail: true},
		{name: "that of the message at position zero", reads: []ReadSegment{at(0, 1, 5), at(5, 2, 3)}, fail: true},
		{name: "overlap in the stream", reads: []ReadSegment{at(40, 1, 9), at(48, 2, 8)}, fail: true},
		{name: "a chunk of no bytes inside another", reads: []ReadSegment{at(40, 1, 12), at(48, 2, 0)}, fail: true},
		{name: "overlap in reverse order", reads: []ReadSegment{at(48, 2, 8), at(40, 1, 9)}, fail: true},
		{name: "overlap by the second segment", reads: []ReadSegment{at(40, 1, 4), at(40, 2, 8), at(48, 3, 4)}, fail: true},
		{
			name: "overlap in memory", // is the peer's own business
			reads: []ReadSegment{
				{40, Segment{1, 100, 0x1000}},
				{200, Segment{1, 100, 0x1000}},
				{200, Segment{1, 100, 0x1010}},
			},
			want: []ReadChunk{
				{40, 100, []ReadSegment{{40, Segment{1, 100, 0x1000}}}},
				{200, 200, []ReadSegment{{200, Segment{1, 100, 0x1000}}, {200, Segment{1, 100, 0x1010}}}},
			},
		},
		{
			name:  "the message at position zero is not part of the stream", // that positions count
			reads: []ReadSegment{at(0, 1, 1000), at(44, 2, 500)},
			want: []ReadChunk{
				{0, 1000, []ReadSegment{at(0, 1, 1000)}},
				{44, 500, []ReadSegment{at(44, 2, 500)}},
			},
		},
		{
			name:  "as long as the limit",
			reads: []ReadSegment{at(40, 1, 600), at(4000, 2, 400)},
			limit: 1000,
			want:  []ReadChunk{{40, 600, []ReadSegment{at(40, 1, 600)}}, {4000, 400, []ReadSegment{at(4000, 2, 400)}}},
		},
		{name: "over the limit", reads: []ReadSegment{at(40, 1, 600), at(4000, 2, 401)}, limit: 1000, fail: true, over: true},
		{name: "over the limit in one chunk", reads: []ReadSegment{at(40, 1, 600), at(40, 2, 401)}, limit: 1000, fail: true, over: true},
		{name: "over the limit with the message", reads: []ReadSegment{at(0, 1, 600), at(40, 2, 401)}, limit: 1000, fail: true, over: true},
		{
			name:  "a chunk of no bytes is dropped",
			reads: []ReadSegment{at(0, 1, 0), at(40, 2, 4), at(44, 3, 0), at(44, 4, 0)},
			want:  []ReadChunk{{40, 4, []ReadSegment{at(40, 2, 4)}}},
		},
		{
			name:  "a segment of no bytes is not",
			reads: []ReadSegment{at(40, 1, 0), at(40, 2, 4)},
			want:  []ReadChunk{{40, 4, []ReadSegment{at(40, 1, 0), at(40, 2, 4)}}},
		},
		// Lengths and positions of 32 bits, and sums of them that do not fit there.
		{name: "one of 2^32-1 bytes", reads: []ReadSegment{at(40, 1, math.MaxUint32)}, fail: true, over: true},
		{name: "sum of 2^32 bytes", reads: []ReadSegment{at(40, 1, math.MaxUint32), at(40, 2, 1)}, fail: true, over: true},
		{name: "sum of 2^33 bytes", reads: slices.Repeat([]ReadSegment{at(40, 1, 1<<31)}, 4), fail: true, over: true},
		{
			name:  "largest position",
			reads: []ReadSegment{at(math.MaxUint32-3, 1, 400)},
			want:  []ReadChunk{{math.MaxUint32 - 3, 400, []ReadSegment{at(math.MaxUint32-3, 1, 400)}}},
		},
		{name: "position of no unit", reads: []ReadSegment{at(math.MaxUint32, 1, 4)}, fail: true},
		{name: "overlap before the largest position", reads: []ReadSegment{at(math.MaxUint32-7, 1, 5), at(math.MaxUint32-3, 1, 4)}, fail: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Lists{Reads: slices.Clone(tt.reads)}
			limit := tt.limit
			if limit == 0 {
				limit = 1 << 20
			}
			got, err := l.ReadChunks(nil, limit)
			if tt.fail {
				if !errors.Is(err, ErrMalformed) || errors.Is(err, xdr.ErrLimit) != tt.over {
					t.Fatalf("%v, error %v, want ErrMalformed, and that it wraps xdr.ErrLimit: %t", got, err, tt.over)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A limit of 2 GiB is exact to the byte.
func TestReadChunksLargestLimit(t *testing.T) {
	l := Lists{Reads: []ReadSegment{at(40, 1, math.MaxInt32-3)}}
	got, err := l.ReadChunks(nil, math.MaxInt32)
	if err != nil || len(got) != 1 || got[0].Len != math.MaxInt32-3 {
		t.Errorf("%v, %v", got, err)
	}
	l.Reads = append(l.Reads, at(40, 2, 4))
	if got, err := l.ReadChunks(nil, math.MaxInt32); err == nil {
		t.Errorf("2^31 bytes: %v, want an error", got)
	}
}

// Positions count the bytes of the unreduced stream: earlier chunks and their round-up are
// included.
func TestCheckPositions(t *testing.T) {
	tests := []struct {
		name   string
		reads  []ReadSegment
		inline int
		fail   bool
	}{
		{"none", nil, 0, false},
		{"in the middle", []ReadSegment{at(40, 1, 1000)}, 100, false},
		{"at the end", []ReadSegment{at(100, 1, 1000)}, 100, false},
		{"past the end", []ReadSegment{at(104, 1, 1000)}, 100, true},
		{"second counts the first", []ReadSegment{at(40, 1, 1000), at(1044, 2, 8)}, 44, false},
		{"second past the end by one word", []ReadSegment{at(40, 1, 1000), at(1048, 2, 8)}, 44, true},
		{"second counts the round-up of the first", []ReadSegment{at(40, 1, 997), at(1044, 2, 8)}, 44, false},
		{"second past the end, without the round-up it would not be", []ReadSegment{at(40, 1, 1000), at(1048, 2, 8)}, 47, true},
		{"third counts both", []ReadSegment{at(40, 1, 3), at(48, 2, 5), at(60, 3, 8)}, 48, false},
		{"third past the end", []ReadSegment{at(40, 1, 3), at(48, 2, 5), at(64, 3, 8)}, 48, true},
		{"one behind another with nothing between them", []ReadSegment{at(40, 1, 6), at(48, 2, 5)}, 40, false},
		{"far past the end", []ReadSegment{at(math.MaxInt32-3, 1, 8)}, 1000, true},
		{"in an empty message", []ReadSegment{at(4, 1, 8)}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Lists{Reads: slices.Clone(tt.reads)}
			chunks, err := l.ReadChunks(nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckPositions(chunks, tt.inline); errors.Is(err, ErrMalformed) != tt.fail {
				t.Errorf("error %v, want one: %v", err, tt.fail)
			}
			// Beside a position-zero chunk that is the message, positions count the same.
			l.Reads = append(l.Reads, at(0, 9, uint32(tt.inline)))
			chunks, err = l.ReadChunks(chunks[:0], 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			inline := 0
			if len(chunks) > 0 && chunks[0].Position == 0 {
				inline, chunks = chunks[0].Len, chunks[1:]
			}
			if err := CheckPositions(chunks, inline); errors.Is(err, ErrMalformed) != tt.fail {
				t.Errorf("beside a position-zero chunk: error %v, want one: %v", err, tt.fail)
			}
		})
	}
}

// What ReadChunks and CheckPositions accept can be put together: a stream of the inline bytes
// with the chunks between them, none out of place.
func TestReadChunksProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 200
		segment := rapid.Custom(func(t *rapid.T) ReadSegment {
			return at(rapid.Uint32Range(0, 120).Draw(t, "position"), 0, rapid.Uint32Range(0, 60).Draw(t, "length"))
		})
		reads := rapid.SliceOfN(segment, 0, 5).Draw(t, "reads")
		for _, s := range reads {
			if rapid.Bool().Draw(t, "round-up as a chunk of its own") {
				reads = append(reads, at(s.Position+s.Length, 0, -s.Length&3))
			}
		}
		inline := 4 * rapid.IntRange(0, 30).Draw(t, "inline words")
		l := Lists{Reads: slices.Clone(reads)}
		chunks, err := l.ReadChunks(nil, limit)
		if err == nil {
			for i := range chunks {
				if chunks[i].Position == 0 {
					chunks = slices.Delete(chunks, i, i+1)
					break
				}
			}
			err = CheckPositions(chunks, inline)
		}

		// The same, byte by byte: which segment of the list fills each byte of the stream.
		want := true
		sum := 0
		stream := map[uint32]uint32{}  // byte to position of its chunk
		lengths := map[uint32]uint32{} // position to length
		for _, s := range reads {
			sum += int(s.Length)
			lengths[s.Position] += s.Length
		}
		for pos, n := range lengths { // what is round-up belongs to the chunk in front of it
			for p := uint32(4); p < pos && pos%4 != 0; p += 4 {
				if m := lengths[p]; p+m == pos && n > 0 && n == -m&3 {
					lengths[p] += n
					delete(lengths, pos)
					break
				}
			}
		}
		for pos := range lengths {
			want = want && pos%4 == 0
		}
		want = want && sum <= limit
		for pos, n := range lengths {
			for b := pos; pos != 0 && b < pos+(n+3)/4*4; b++ {
				if _, taken := stream[b]; taken {
					want = false
				}
				stream[b] = pos
			}
		}
		for pos := range lengths {
			if in, taken := stream[pos]; taken && in != pos {
				want = false // of no bytes, inside another
			}
		}
		for pos, n := range lengths {
			if pos == 0 || n == 0 {
				continue
			}
			before := 0 // inline bytes in front
			for b := range pos {
				if _, taken := stream[b]; !taken {
					before++
				}
			}
			want = want && before <= inline
		}
		if want != (err == nil) {
			t.Fatalf("%v with %d bytes inline: error %v, want none: %v", reads, inline, err, want)
		}
	})
}
