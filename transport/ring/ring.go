// Package ring is a queue of bounded length, in which a software provider of package transport
// keeps work requests, receives and RDMA Reads.
//
//	sends := ring.New[*transport.WorkRequest](info.SendDepth)
//	if !sends.Room(len(wrs)) {
//		return transport.ErrQueueFull
//	}
//	for _, wr := range wrs {
//		sends.Push(wr)
//	}
//	wr, ok := sends.Pop() // the oldest
//
// The caller checks Room before Push. A [Ring] takes no locks and, once it has grown, allocates
// nothing.
package ring

// Ring is a queue of bounded length. Its storage grows as needed, up to the bound, and never
// shrinks. The zero value has a bound of 0. Methods must not be called concurrently.
type Ring[T any] struct {
	n     int
	bound int
	head  int // index of the oldest
	buf   []T // length a power of two, or zero
}

// New returns an empty ring for at most bound elements.
func New[T any](bound int) Ring[T] { return Ring[T]{bound: bound} }

// Room reports whether k more elements fit.
func (r *Ring[T]) Room(k int) bool { return k <= r.bound-r.n }

// Len returns the number of elements.
func (r *Ring[T]) Len() int { return r.n }

// Push appends v, for which there must be room.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// PushFront puts back v, which was popped before, as the oldest element. If others have been pushed
// meanwhile, the ring may exceed its bound by one.
func (r *Ring[T]) PushFront(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.buf[r.head] = v
	r.n++
}

// At returns element i, counted from the oldest, which is 0. It panics if there is none. The
// pointer is valid until the next Push or until that element is popped.
func (r *Ring[T]) At(i int) *T {
	if uint(i) >= uint(r.n) {
		panic("ring: index out of range")
	}
	return &r.buf[(r.head+i)&(len(r.buf)-1)]
}

// Pop removes and returns the oldest element, if there is one.
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
