package wire

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// segments is a read list.
type segments = []chunks.ReadSegment

// at is a read segment. Its handle identifies it.
func at(position, handle, length uint32) chunks.ReadSegment {
	return in(position, handle, length, 0)
}

// in is a read segment somewhere in memory.
func in(position, handle, length uint32, offset uint64) chunks.ReadSegment {
	return chunks.ReadSegment{Position: position, Segment: segment(handle, length, offset)}
}

func TestReadChunks(t *testing.T) {
	tests := []struct {
		name  string
		reads segments
		limit int // 0: 1 MiB
		want  []ReadChunk
		fail  bool
		over  bool // the limit
	}{
		{name: "none"},
		{
			name:  "one",
			reads: segments{at(40, 1, 1000)},
			want:  []ReadChunk{{40, 1000, segments{at(40, 1, 1000)}}},
		},
		{
			name:  "so they are when others stand between them",
			reads: segments{at(400, 1, 8), at(40, 2, 7), at(400, 3, 9), at(40, 4, 5)},
			want: []ReadChunk{
				{40, 12, segments{at(40, 2, 7), at(40, 4, 5)}},
				{400, 17, segments{at(400, 1, 8), at(400, 3, 9)}},
			},
		},
		{name: "position 41", reads: segments{at(41, 1, 4)}, fail: true},
		{name: "position 43 of no bytes", reads: segments{at(43, 1, 0)}, fail: true},
		{
			name:  "one begins where the round-up of another ends",
			reads: segments{at(40, 1, 5), at(48, 2, 8)},
			want:  []ReadChunk{{40, 5, segments{at(40, 1, 5)}}, {48, 8, segments{at(48, 2, 8)}}},
		},
		{
			name: "round-up as a chunk of its own",
			reads: segments{
				at(45, 3, 3), at(40, 1, 2), at(48, 4, 8), at(40, 2, 3), at(56, 5, 7), at(63, 6, 1),
			},
			want: []ReadChunk{
				{40, 8, segments{at(40, 1, 2), at(40, 2, 3), at(45, 3, 3)}},
				{48, 8, segments{at(48, 4, 8)}},
				{56, 8, segments{at(56, 5, 7), at(63, 6, 1)}},
			},
		},
		{
			name:  "over the limit with it",
			reads: segments{at(40, 1, 5), at(45, 2, 3)},
			limit: 7, fail: true, over: true,
		},
		{name: "some of it", reads: segments{at(40, 1, 5), at(45, 2, 2)}, fail: true},
		{
			name:  "it and more behind it",
			reads: segments{at(40, 1, 5), at(45, 2, 3), at(45, 3, 4)},
			fail:  true,
		},
		{name: "it in front of the data", reads: segments{at(40, 1, 6), at(45, 2, 2)}, fail: true},
		{
			name:  "that of the message at position zero",
			reads: segments{at(0, 1, 5), at(5, 2, 3)},
			fail:  true,
		},
		{name: "overlap in the stream", reads: segments{at(40, 1, 9), at(48, 2, 8)}, fail: true},
		{
			name:  "a chunk of no bytes inside another",
			reads: segments{at(40, 1, 12), at(48, 2, 0)},
			fail:  true,
		},
		{
			name:  "overlap by the second segment",
			reads: segments{at(40, 1, 4), at(40, 2, 8), at(48, 3, 4)},
			fail:  true,
		},
		{
			name:  "over the limit",
			reads: segments{at(40, 1, 600), at(4000, 2, 401)},
			limit: 1000, fail: true, over: true,
		},
		{
			name:  "a chunk of no bytes is dropped",
			reads: segments{at(0, 1, 0), at(40, 2, 4), at(44, 3, 0), at(44, 4, 0)},
			want:  []ReadChunk{{40, 4, segments{at(40, 2, 4)}}},
		},
		// Lengths and positions of 32 bits, and sums of them that do not fit there.
		{name: "one of 2^32-1 bytes", reads: segments{at(40, 1, math.MaxUint32)}, fail: true, over: true},
		{
			name:  "sum of 2^32 bytes",
			reads: segments{at(40, 1, math.MaxUint32), at(40, 2, 1)},
			fail:  true, over: true,
		},
		{
			name:  "largest position",
			reads: segments{at(math.MaxUint32-3, 1, 400)},
			want:  []ReadChunk{{math.MaxUint32 - 3, 400, segments{at(math.MaxUint32-3, 1, 400)}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := slices.Clone(tt.reads)
			limit := tt.limit
			if limit == 0 {
				limit = 1 << 20
			}
			got, err := readChunks(nil, list, limit)
			if tt.fail {
				if !errors.Is(err, ErrMalformed) || errors.Is(err, xdr.ErrLimit) != tt.over {
					t.Fatalf("%v, error %v, want ErrMalformed, and that it wraps xdr.ErrLimit: %t",
						got, err, tt.over)
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
	list := segments{at(40, 1, math.MaxInt32-3)}
	got, err := readChunks(nil, list, math.MaxInt32)
	if err != nil || len(got) != 1 || got[0].Len != math.MaxInt32-3 {
		t.Errorf("%v, %v", got, err)
	}
	list = append(list, at(40, 2, 4))
	if got, err := readChunks(nil, list, math.MaxInt32); err == nil {
		t.Errorf("2^31 bytes: %v, want an error", got)
	}
}

// Positions count the bytes of the unreduced stream: earlier chunks and their round-up are
// included.
func TestCheckPositions(t *testing.T) {
	tests := []struct {
		name   string
		reads  segments
		inline int
		fail   bool
	}{
		{"none", nil, 0, false},
		{"at the end", segments{at(100, 1, 1000)}, 100, false},
		{"past the end", segments{at(104, 1, 1000)}, 100, true},
		{"second past the end by one word", segments{at(40, 1, 1000), at(1048, 2, 8)}, 44, true},
		{"second counts the round-up of the first", segments{at(40, 1, 997), at(1044, 2, 8)}, 44, false},
		{"in an empty message", segments{at(4, 1, 8)}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := slices.Clone(tt.reads)
			got, err := readChunks(nil, list, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkPositions(got, tt.inline); errors.Is(err, ErrMalformed) != tt.fail {
				t.Errorf("error %v, want one: %v", err, tt.fail)
			}
			// Beside a position-zero chunk that is the message, positions count the same.
			list = append(list, at(0, 9, uint32(tt.inline)))
			got, err = readChunks(got[:0], list, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			inline := 0
			if len(got) > 0 && got[0].Position == 0 {
				inline, got = got[0].Len, got[1:]
			}
			if err := checkPositions(got, inline); errors.Is(err, ErrMalformed) != tt.fail {
				t.Errorf("beside a position-zero chunk: error %v, want one: %v", err, tt.fail)
			}
		})
	}
}

// What readChunks and checkPositions accept can be put together: a stream of the inline bytes
// with the chunks between them, none out of place.
func TestReadChunksProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 200
		segment := rapid.Custom(func(t *rapid.T) chunks.ReadSegment {
			position := rapid.Uint32Range(0, 120).Draw(t, "position")
			return at(position, 0, rapid.Uint32Range(0, 60).Draw(t, "length"))
		})
		reads := rapid.SliceOfN(segment, 0, 5).Draw(t, "reads")
		for _, s := range reads {
			if rapid.Bool().Draw(t, "round-up as a chunk of its own") {
				reads = append(reads, at(s.Position+s.Length, 0, -s.Length&3))
			}
		}
		inline := 4 * rapid.IntRange(0, 30).Draw(t, "inline words")
		got, err := readChunks(nil, slices.Clone(reads), limit)
		if err == nil {
			for i := range got {
				if got[i].Position == 0 {
					got = slices.Delete(got, i, i+1)
					break
				}
			}
			err = checkPositions(got, inline)
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
