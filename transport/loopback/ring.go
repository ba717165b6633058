package loopback

// ring is a queue of bounded length. Its storage grows with what is in it, up to the
// bound, and is kept.
type ring[T any] struct {
	bound int
	buf   []T // length a power of two, or zero
	head  int // index of the oldest
	n     int
}

// room reports whether k more fit.
func (r *ring[T]) room(k int) bool { return k <= r.bound-r.n }

// push appends v, for which there must be room.
func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// pop removes the oldest, if any, and returns it.
func (r *ring[T]) pop() (v T, ok bool) {
	if r.n == 0 {
		return v, false
	}
	v, r.buf[r.head] = r.buf[r.head], v
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v, true
}

func (r *ring[T]) grow() {
	buf := make([]T, max(2*len(r.buf), 8))
	n := copy(buf, r.buf[r.head:])
	copy(buf[n:], r.buf[:r.head])
	r.buf, r.head = buf, 0
}
