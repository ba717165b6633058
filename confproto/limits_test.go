package confproto

import (
	"math"
	"testing"
)

// TestLimits checks how the numbers of a peer are clamped.
func TestLimits(t *testing.T) {
	for in, want := range map[uint32]int{
		0: 1024, 1: 1024, 1023: 1024, 1024: 1024, 1025: 1025, 4096: 4096, 65535: 65535, 65536: 65536, 65537: 65536, math.MaxInt32: 65536, math.MaxUint32: 65536,
	} {
		if got := sizeOf(in); got != want {
			t.Errorf("size %d: got %d, want %d", in, got, want)
		}
	}
	for in, want := range map[uint32]int{0: 0, 1: 1, 16: 16, 1 << 16: 1 << 16, math.MaxUint32: 1 << 16} {
		if got := readsOf(in); got != want {
			t.Errorf("%d reads: got %d, want %d", in, got, want)
		}
	}
	for in, want := range map[int]int{0: 32768, 1024: 1024, 40000: 40000, 65536: 65536} {
		if got, err := configured("Config", "MaxCall", in); got != want || err != nil {
			t.Errorf("configured %d: got %d, %v, want %d", in, got, err, want)
		}
	}
	for _, tt := range []struct {
		in   uint32
		size int
		want int
	}{
		{0, 4096, 0}, {1, 4096, 0}, {2, 4096, 0}, {4, 4096, 0}, // XDR has that anyway
		{8, 4096, 8}, {64, 4096, 64}, {512, 1024, 512}, {4096, 4096, 4096},
		// no powers of two
		{3, 4096, 0}, {12, 4096, 0}, {513, 4096, 0}, {math.MaxUint32, math.MaxInt32, 0},
		{8192, 4096, 0}, {1 << 31, 65536, 0}, // nothing could be sent
	} {
		if got := alignOf(tt.in, tt.size); got != tt.want {
			t.Errorf("alignment %d in messages of %d: got %d, want %d", tt.in, tt.size, got, tt.want)
		}
	}
}
