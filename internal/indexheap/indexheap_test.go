package indexheap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type number struct{ n, place int }

func (x *number) Before(o *number) bool { return x.n < o.n }
func (x *number) Place() *int           { return &x.place }

// Elements enter, change and leave at random. The least of those that are in is always the first.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[*number]
		all := make([]number, 10)
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			x := &all[rapid.IntRange(0, len(all)-1).Draw(t, "element")]
			x.n = rapid.IntRange(0, 20).Draw(t, "value")
			h.Set(x, rapid.Bool().Draw(t, "in"))
			var in []int
			for i := range all {
				if all[i].place > 0 {
					in = append(in, all[i].n)
				}
			}
			if h.Len() != len(in) {
				t.Fatalf("%d elements, %d have a place", h.Len(), len(in))
			}
			if first := h.First(); len(in) > 0 && first.n != slices.Min(in) {
				t.Fatalf("%d is first of %v", first.n, in)
			} else if len(in) == 0 && first != nil {
				t.Fatalf("%d is first of none", first.n)
			}
		}
	})
}
