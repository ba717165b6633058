// Package ring has the queue of bounded length that a software provider of package
// transport keeps work requests, receives and RDMA Reads in.
package ring

// Ring is a queue of bounded length. Its storage grows with what is in it, up to the
// bound, and is kept, so that a queue in use allocates nothing. The zero value has a bound
// of 0. Its methods must not be called concurrently.
type Ring[T any] struct {
	n     int
	bound int
	head  int // index of the oldest
	buf   []T // length a power of two, or zero
}

// New returns an empty ring for at most bound elements.
func New[T any](bound int) Ring[T] { return Ring[T]{bound: bound} }

// Room reports whether k more fit.
func (r *Ring[T]) Room(k int) bool { return k <= r.bound-r.n }

// Len reports how many there are.
func (r *Ring[T]) Len() int { return r.n }

// Push appends v, for which there must be room.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// PushFront puts back v, which was popped and is older than all that are there. Others may
// have been pushed meanwhile: then there is one more than the bound for a while.
func (r *Ring[T]) PushFront(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.buf[r.head] = v
	r.n++
}

// At returns the element behind i older ones, which must be there. The pointer is valid
// until the next Push or the Pop of that element.
func (r *Ring[T]) At(i int) *T {
	if uint(i) >= uint(r.n) {
		panic("ring: index out of range")
	}
	return &r.buf[(r.head+i)&(len(r.buf)-1)]
}

// Pop removes the oldest, if any, and returns it.
func (r *Ring[T]) Pop() (v T, ok bool) {
	if r.n == 0 {
		return v, false
	}
	v, r.buf[r.head] = r.buf[r.head], v
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v, true
}

func (r *Ring[T]) grow() {
	buf := make([]T, max(2*len(r.buf), 8))
	n := copy(buf, r.buf[r.head:])
	copy(buf[n:], r.buf[:r.head])
	r.buf, r.head = buf, 0
}
