package loopback

import (
	"math/rand/v2"
	"testing"
)

// A ring against a slice.
func TestRing(t *testing.T) {
	for _, bound := range []int{0, 1, 7, 8, 9, 100} {
		r := ring[int]{bound: bound}
		var want []int
		for i := range 5000 {
			if k := 1 + rand.IntN(5); rand.IntN(5) < 3 {
				if r.room(k) != (len(want)+k <= bound) {
					t.Fatalf("bound %d: room(%d) with %d in it is %v", bound, k, len(want), r.room(k))
				}
				if r.room(k) {
					for range k {
						r.push(i)
						want = append(want, i)
					}
				}
				continue
			}
			got, ok := r.pop()
			if ok != (len(want) > 0) {
				t.Fatalf("bound %d: pop with %d in it: %v", bound, len(want), ok)
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
