// Package list is a linked list that allocates nothing, unlike container/list: each element
// contains its own links.
package list

// List is a queue from which any element can be removed. Each element contains a Place with its
// links. The zero value is an empty list. A List has no lock of its own.
type List[T any] struct{ first, last *Place[T] }

// Place is the position in a list of an element of type T. The zero value is in no list.
type Place[T any] struct {
	of         *T // nil if in no list
	prev, next *Place[T]
}

// In reports whether the element is in a list.
func (p *Place[T]) In() bool { return p.of != nil }

// Next returns the element after p, or nil. The element at p must be in a list.
func (p *Place[T]) Next() *T {
	if p.next == nil {
		return nil
	}
	return p.next.of
}

// First returns the oldest element, or nil.
func (l *List[T]) First() *T {
	if l.first == nil {
		return nil
	}
	return l.first.of
}

// Push appends v to the list, at its place p, which must be in no list.
func (l *List[T]) Push(p *Place[T], v *T) {
	p.of, p.prev, p.next = v, l.last, nil
	if l.last != nil {
		l.last.next = p
	} else {
		l.first = p
	}
	l.last = p
}

// Remove removes the element at p, which must be in this list.
func (l *List[T]) Remove(p *Place[T]) {
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
	*p = Place[T]{}
}
