package wire

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
)

// offered is a write chunk of 100, 4 and 50 bytes.
var offered = chunk(1, 100, 0x1000, 2, 4, 0x2000, 3, 50, 0x3000)

// chunk makes a write chunk of handles, lengths and offsets.
func chunk(words ...uint64) (c chunks.WriteChunk) {
	for ; len(words) > 0; words = words[3:] {
		c = append(c, segment(uint32(words[0]), uint32(words[1]), words[2]))
	}
	return c
}

func segment(handle, length uint32, offset uint64) chunks.Segment {
	return chunks.Segment{Handle: handle, Length: length, Offset: offset}
}

func withLengths(c chunks.WriteChunk, lengths ...uint32) chunks.WriteChunk {
	c = slices.Clone(c)
	for i, n := range lengths {
		c[i].Length = n
	}
	return c
}

func TestWrittenLen(t *testing.T) {
	tests := []struct {
		name     string
		returned chunks.WriteChunk
		want     int // -1: refused
	}{
		{"unused", withLengths(offered, 0, 0, 0), 0},
		{"second in part", withLengths(offered, 100, 3, 0), 103},
		{"all", offered, 154},
		{"gap in the first", withLengths(offered, 99, 1, 0), -1},
		{"first skipped", withLengths(offered, 0, 4, 0), -1},
		{"too much in the first", withLengths(offered, 101, 0, 0), -1},
		{"too much in the last", withLengths(offered, 100, 4, 51), -1},
		{"another handle", append(chunk(9, 100, 0x1000), offered[1:]...), -1},
		{"another offset", chunks.WriteChunk{offered[0], segment(2, 4, 0x2004), offered[2]}, -1},
		{"one segment too few", offered[:2], -1},
		{"one segment too many", append(slices.Clone(offered), chunks.Segment{}), -1},
		{"no segments", nil, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := writtenLen(offered, tt.returned, false)
			if tt.want < 0 {
				if !errors.Is(err, ErrMalformed) {
					t.Errorf("%d, error %v, want ErrMalformed", n, err)
				}
				return
			}
			if err != nil || n != tt.want {
				t.Errorf("%d, error %v, want %d", n, err, tt.want)
			}
		})
	}
	if n, err := writtenLen(nil, nil, false); n != 0 || err != nil {
		t.Errorf("a chunk of no segments: %d, error %v", n, err)
	}
	empty := chunk(1, 0, 0, 2, 8, 0) // a segment of no bytes is full
	if n, err := writtenLen(empty, withLengths(empty, 0, 5), false); n != 5 || err != nil {
		t.Errorf("behind a segment of no bytes: %d, error %v", n, err)
	}
}

// A chunk that includes the round-up (draft section 3.7).
func TestFilledRoundUp(t *testing.T) {
	odd := chunk(1, 100, 0x1000, 2, 3, 0x2000, 3, 50, 0x3000) // of 153 bytes
	one := chunk(1, 5, 0x1000)
	tests := []struct {
		name     string
		offered  chunks.WriteChunk
		returned []uint32
		want     int // -1: refused
	}{
		{"unused", odd, []uint32{0, 0, 0}, 0},
		{"beyond the last", odd, []uint32{100, 3, 53}, 156},
		{"beyond the last, no multiple of four", odd, []uint32{100, 3, 52}, -1},
		{"beyond the last by seven", odd, []uint32{100, 3, 57}, -1},
		{"beyond the last used, though there is room", odd, []uint32{100, 4, 0}, 104},
		{"beyond the last used by two, though there is room", odd, []uint32{100, 5, 0}, -1},
		{"beyond one in the middle", odd, []uint32{100, 4, 48}, -1},
		{"beyond one in the middle, and then the round-up again", odd, []uint32{100, 4, 4}, -1},
		{
			"behind a gap and a segment of no bytes", chunk(1, 5, 0, 2, 0, 0, 3, 5, 0),
			[]uint32{4, 0, 1}, -1,
		},
		{"one segment", one, []uint32{8}, 8},
		{"one segment, too much by a round-up", one, []uint32{12}, -1},
		{"multiple of four offered, more returned", chunk(1, 8, 0), []uint32{12}, -1},
		{"multiple of four offered in two, beyond the first", chunk(1, 5, 0, 2, 3, 0), []uint32{8, 0}, 8},
		{
			"multiple of four offered in two, beyond the first by two", chunk(1, 5, 0, 2, 3, 0),
			[]uint32{7, 0}, -1,
		},
		{
			"multiple of four offered in three, beyond the second", chunk(1, 3, 0, 2, 3, 0, 3, 2, 0),
			[]uint32{3, 5, 0}, 8,
		},
		{"nothing offered", chunk(1, 0, 0), []uint32{4}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			returned := withLengths(tt.offered, tt.returned...)
			n, err := writtenLen(tt.offered, returned, true)
			if tt.want < 0 {
				if !errors.Is(err, ErrMalformed) {
					t.Errorf("%d, error %v, want ErrMalformed", n, err)
				}
			} else if err != nil || n != tt.want {
				t.Errorf("%d, error %v, want %d", n, err, tt.want)
			}
			// Who knows no round-up takes what was offered, and no more.
			n, err = writtenLen(tt.offered, returned, false)
			within := tt.want >= 0
			for i := range tt.returned {
				within = within && tt.returned[i] <= tt.offered[i].Length
			}
			if within != (err == nil) {
				t.Errorf("without round-up: %d, error %v", n, err)
			}
		})
	}
	moved := chunk(1, 8, 0x1004)
	if n, err := writtenLen(one, moved, true); !errors.Is(err, ErrMalformed) {
		t.Errorf("another offset: %d, error %v, want ErrMalformed", n, err)
	}
}

func TestCheckOffsets(t *testing.T) {
	const last4GiB = math.MaxUint64 - math.MaxUint32 + 1
	for _, tt := range []struct {
		name string
		s    chunks.Segment
		want error
	}{
		{"from the beginning", chunks.Segment{Length: math.MaxUint32}, nil},
		{"the last byte", chunks.Segment{Length: 1, Offset: math.MaxUint64}, nil},
		{"one more", chunks.Segment{Length: 2, Offset: math.MaxUint64}, ErrMalformed},
		{"no bytes behind it", chunks.Segment{Offset: math.MaxUint64}, nil},
		{"the last 4 GiB", chunks.Segment{Length: math.MaxUint32, Offset: last4GiB}, nil},
		{"one byte more", chunks.Segment{Length: math.MaxUint32, Offset: last4GiB + 1}, ErrMalformed},
	} {
		fine := segment(1, 100, 0x1000)
		for list, l := range map[string]chunks.Lists{
			"read list":  {Reads: []chunks.ReadSegment{{Position: 4, Segment: fine}, {Segment: tt.s}}},
			"write list": {Writes: []chunks.WriteChunk{nil, {fine}, {fine, tt.s}}},
			"reply chunk": {
				Writes: []chunks.WriteChunk{{fine}}, Reply: chunks.WriteChunk{fine, tt.s}, HasReply: true,
			},
		} {
			t.Run(tt.name+", "+list, func(t *testing.T) {
				if err := checkOffsets(&Header{Lists: l}); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			})
		}
	}
}
