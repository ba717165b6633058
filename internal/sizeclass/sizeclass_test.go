package sizeclass

import (
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct{ n, least, want int }{
		{-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 2}, {4, 0, 2}, {5, 0, 3},
		{0, 10, 10}, {1 << 10, 10, 10}, {1<<10 + 1, 10, 11}, {1<<30 + 1, 10, Largest + 1},
	} {
		if got := Of(tt.n, tt.least); got != tt.want {
			t.Errorf("%d bytes, at least class %d: class %d, want %d", tt.n, tt.least, got, tt.want)
		}
	}
}

func TestBuffers(t *testing.T) {
	var unused Buffers
	for _, tt := range []struct{ n, size int }{
		{0, 4 << 10}, {4 << 10, 4 << 10}, {4<<10 + 1, 8 << 10}, {1 << 20, 1 << 20},
		{1<<20 + 1, 2 << 20},
	} {
		for range 2 { // new, and perhaps used again
			b := unused.Get(tt.n)
			if len(b.Bytes) != tt.size {
				t.Errorf("%d bytes: got %d, want %d", tt.n, len(b.Bytes), tt.size)
			}
			unused.Put(b)
		}
	}
}

// TestLists: what is kept last is taken first, and what is too much is dropped, the largest first.
func TestLists(t *testing.T) {
	var l Lists[string]
	if v, ok := l.Take(3); ok {
		t.Errorf("took %q of nothing", v)
	}
	l.Put(3, "a")
	l.Put(5, "b")
	l.Put(3, "c")
	l.Put(3, "d")
	if v, ok := l.Take(3); !ok || v != "d" || l.Kept() != 2*8+32 {
		t.Errorf("took %q, %d bytes are left", v, l.Kept())
	}
	var dropped []string
	for _, step := range []struct {
		most, kept int64
		dropped    []string
	}{
		{48, 48, nil}, {47, 16, []string{"b"}}, {8, 8, []string{"c"}}, {-1, 0, []string{"a"}},
		{0, 0, nil},
	} {
		dropped = nil
		l.Drop(step.most, func(v string) { dropped = append(dropped, v) })
		if l.Kept() != step.kept || !slices.Equal(dropped, step.dropped) {
			t.Errorf("at most %d: dropped %q, %d bytes are left; want %q, %d",
				step.most, dropped, l.Kept(), step.dropped, step.kept)
		}
	}
}
