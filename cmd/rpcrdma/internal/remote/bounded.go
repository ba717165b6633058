package remote

import (
	"fmt"
	"iter"
)

// How many entries of one directory are listed: a hostile server may have directories without end.
var (
	MostHeld   = 1 << 20 // where all of them are kept in memory, some 300 MiB then
	MostListed = 1 << 24 // where they are not
)

// EndlessError is a directory with more entries than are listed.
type EndlessError int

func (e EndlessError) Error() string { return fmt.Sprintf("more than %d entries: given up", int(e)) }

// Bounded ends a listing with an EndlessError behind so many entries.
func Bounded[E any](list iter.Seq2[E, error], most int) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		n := 0
		for e, err := range list {
			if n++; n > most {
				var none E
				yield(none, EndlessError(most))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
