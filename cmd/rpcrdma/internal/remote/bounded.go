package remote

import (
	"fmt"
	"iter"
)

// The most entries that are listed of one directory: those of a hostile server may have no end.
var (
	MostHeld   = 1 << 20 // if all are kept in memory, about 300 MiB
	MostListed = 1 << 24 // if they are not
)

// EndlessError is a directory with too many entries. Its value is how many were listed.
type EndlessError int

func (e EndlessError) Error() string { return fmt.Sprintf("more than %d entries: given up", int(e)) }

// Bounded ends a listing with an EndlessError after most entries.
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
