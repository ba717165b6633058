package rpcrdma

import "container/heap"

// ordered is a heap of waiters. Each element knows its place in it.
type ordered[T waiter[T]] []T

// waiter is an element of an ordered.
type waiter[T any] interface {
	before(T) bool // whether it is served before another one
	place() *int   // its place in the heap plus 1; 0: it does not wait
}

// set puts x at its place if it waits, and otherwise removes it.
func (o *ordered[T]) set(x T, waits bool) {
	switch place := *x.place(); {
	case !waits && place > 0:
		heap.Remove(o, place-1)
	case waits && place > 0:
		heap.Fix(o, place-1)
	case waits:
		heap.Push(o, x)
	}
}

func (o ordered[T]) Len() int           { return len(o) }
func (o ordered[T]) Less(i, j int) bool { return o[i].before(o[j]) }

func (o ordered[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	*o[i].place(), *o[j].place() = i+1, j+1
}

// Push implements heap.Interface.
func (o *ordered[T]) Push(x any) {
	*o = append(*o, x.(T))
	*x.(T).place() = len(*o)
}

// Pop implements heap.Interface.
func (o *ordered[T]) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	var none T
	(*o)[last] = none
	*o = (*o)[:last]
	*x.place() = 0
	return x
}
