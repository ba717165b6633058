package list

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type element struct {
	n     int
	place Place[element]
}

// all returns the numbers in l in order.
func all(l *List[element]) (ns []int) {
	for e := l.First(); e != nil; e = e.place.Next() {
		ns = append(ns, e.n)
	}
	return ns
}

// A list behaves like a slice: elements enter at the end and leave from anywhere.
func TestList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var l List[element]
	elements := make([]element, 8)
	var want []int
	for range 5000 {
		n := random.IntN(len(elements))
		e := &elements[n]
		e.n = n
		if i := slices.Index(want, n); i >= 0 {
			l.Remove(&e.place)
			want = slices.Delete(want, i, i+1)
		} else {
			l.Push(&e.place, e)
			want = append(want, n)
		}
		if got := all(&l); !slices.Equal(got, want) {
			t.Fatalf("the list is %v, want %v", got, want)
		}
		for i := range elements {
			if in := elements[i].place.In(); in != slices.Contains(want, i) {
				t.Fatalf("element %d: In is %v, the list is %v", i, in, want)
			}
		}
	}
}
