package ring

import (
	"math/rand/v2"
	"testing"
)

// Compares a ring with a slice.
func TestRing(t *testing.T) {
	for _, bound := range []int{0, 1, 7, 8, 9, 100} {
		r := New[int](bound)
		var want []int
		for i := range 5000 {
			if r.Len() != len(want) {
				t.Fatalf("bound %d: Len is %d, want %d", bound, r.Len(), len(want))
			}
			for j := range want {
				if got := *r.At(j); got != want[j] {
					t.Fatalf("bound %d: At(%d) is %d, want %d", bound, j, got, want[j])
				}
			}
			if k := 1 + rand.IntN(5); rand.IntN(5) < 3 {
				if r.Room(k) != (len(want)+k <= bound) {
					t.Fatalf("bound %d: Room(%d) with %d in it is %v", bound, k, len(want), r.Room(k))
				}
				if r.Room(k) {
					for range k {
						r.Push(i)
						want = append(want, i)
					}
				}
				continue
			}
			got, ok := r.Pop()
			if ok != (len(want) > 0) {
				t.Fatalf("bound %d: Pop with %d in it: %v", bound, len(want), ok)
			}
			if ok {
				if got != want[0] {
					t.Fatalf("bound %d: got %d, want %d", bound, got, want[0])
				}
				want = want[1:]
			}
		}
	}
}

// TestPushFront puts elements back before others, also beyond the bound.
func TestPushFront(t *testing.T) {
	r := New[int](4)
	for i := range 4 {
		r.Push(i)
	}
	first, _ := r.Pop()
	second, _ := r.Pop()
	r.Push(4)
	r.Push(5)
	r.PushFront(second)
	r.PushFront(first)
	if r.Room(1) || r.Len() != 6 {
		t.Errorf("room %v, %d elements, want none and 6", r.Room(1), r.Len())
	}
	for want := range 6 {
		if got, ok := r.Pop(); got != want || !ok {
			t.Errorf("got %d, %v, want %d", got, ok, want)
		}
	}
	r = New[int](1)
	r.PushFront(7) // into an empty one
	if got, ok := r.Pop(); got != 7 || !ok {
		t.Errorf("got %d, %v, want 7", got, ok)
	}
}
