package rpcrdma

// list is a queue that an element leaves from anywhere. The links are in the elements, each of
// which has a place, so entering allocates nothing. Whoever owns the list guards it.
type list[T any] struct{ first, last *place[T] }

// place is where an element of type T stands in a list. The zero place is in none.
type place[T any] struct {
	of         *T // nil: it is in no list
	prev, next *place[T]
}

// in reports whether the element is in a list.
func (p *place[T]) in() bool { return p.of != nil }

// push puts v at the end of the list, at its place p.
func (l *list[T]) push(p *place[T], v *T) {
	p.of, p.prev, p.next = v, l.last, nil
	if l.last != nil {
		l.last.next = p
	} else {
		l.first = p
	}
	l.last = p
}

// remove takes the element at p, which is in the list, out of it.
func (l *list[T]) remove(p *place[T]) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		l.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		l.last = p.prev
	}
	*p = place[T]{}
}
