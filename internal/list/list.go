// Package list has a linked list whose elements bring their links along. Unlike that of
// container/list it allocates nothing.
package list

// List is a queue that an element leaves from anywhere. The links are in the elements, each of
// which has a Place. The zero value is an empty list. Whoever owns it guards it.
type List[T any] struct{ first, last *Place[T] }

// Place is where an element of type T stands in a list. The zero value is in none.
type Place[T any] struct {
	of         *T // nil: it is in no list
	prev, next *Place[T]
}

// In reports whether the element is in a list.
func (p *Place[T]) In() bool { return p.of != nil }

// Next returns the element behind that at p, which is in a list, or nil.
func (p *Place[T]) Next() *T {
	if p.next == nil {
		return nil
	}
	return p.next.of
}

// First returns the element that came first, or nil.
func (l *List[T]) First() *T {
	if l.first == nil {
		return nil
	}
	return l.first.of
}

// Push puts v at the end of the list, at its place p, which is in none.
func (l *List[T]) Push(p *Place[T], v *T) {
	p.of, p.prev, p.next = v, l.last, nil
	if l.last != nil {
		l.last.next = p
	} else {
		l.first = p
	}
	l.last = p
}

// Remove takes the element at p, which is in the list, out of it.
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
