package sizeclass

// Lists keeps unused memory until its user drops it: a list of Ts for each class. The zero value is
// ready for use. The methods must not be called concurrently.
type Lists[T any] struct {
	free [Largest + 1][]T
	kept int64
}

// Kept returns the sum of the sizes of what is kept, in bytes.
func (l *Lists[T]) Kept() int64 { return l.kept }

// Put keeps v.
func (l *Lists[T]) Put(class int, v T) {
	l.free[class] = append(l.free[class], v)
	l.kept += 1 << class
}

// Take returns what was kept last of a class, if anything is left. It is no longer kept.
func (l *Lists[T]) Take(class int) (v T, ok bool) {
	free := l.free[class]
	if len(free) == 0 {
		return v, false
	}
	last := len(free) - 1
	v, free[last] = free[last], v
	l.free[class] = free[:last]
	l.kept -= 1 << class
	return v, true
}

// Drop drops memory, the largest first, until at most most bytes are kept. It passes each T to
// dropped.
func (l *Lists[T]) Drop(most int64, dropped func(T)) {
	for class := Largest; class >= 0 && l.kept > most; {
		if v, ok := l.Take(class); ok {
			dropped(v)
		} else {
			class--
		}
	}
}
