// Package indexheap is a heap whose elements know their places in it. So an element that changes
// moves to its new place, and one that leaves is removed, without a search.
package indexheap

import "container/heap"

// Heap is a heap. The zero value is empty. A Heap has no lock of its own.
type Heap[T Element[T]] struct{ elements elements[T] }

// Element is an element of a Heap: a pointer.
type Element[T any] interface {
	Before(T) bool // whether it comes before another one
	Place() *int   // where the Heap keeps its place, plus 1; 0: it is in no heap
}

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.elements) }

// First returns the element that comes first, or nil.
func (h *Heap[T]) First() (first T) {
	if len(h.elements) > 0 {
		first = h.elements[0]
	}
	return first
}

// Set puts x at its place if in, and otherwise removes it. Call it whenever x has changed, before
// anything else in the heap changes.
func (h *Heap[T]) Set(x T, in bool) {
	switch place := *x.Place(); {
	case !in && place > 0:
		heap.Remove(&h.elements, place-1)
	case in && place > 0:
		heap.Fix(&h.elements, place-1)
	case in:
		heap.Push(&h.elements, x)
	}
}

// elements implements heap.Interface.
type elements[T Element[T]] []T

func (e elements[T]) Len() int           { return len(e) }
func (e elements[T]) Less(i, j int) bool { return e[i].Before(e[j]) }

func (e elements[T]) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	*e[i].Place(), *e[j].Place() = i+1, j+1
}

func (e *elements[T]) Push(x any) {
	*e = append(*e, x.(T))
	*x.(T).Place() = len(*e)
}

func (e *elements[T]) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	var none T
	(*e)[last] = none
	*e = (*e)[:last]
	*x.Place() = 0
	return x
}
