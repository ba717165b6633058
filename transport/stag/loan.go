package stag

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Loan is memory of a window that is being filled on behalf of the peer. Until Return,
// nobody else touches the window, and Revoke and Abandon wait; so it is for as long as it
// takes to fill memory with what is there, not for a wait.
type Loan struct{ e *entry }

// Return ends a loan.
func (l Loan) Return() { l.e.mu.Unlock() }

// Lend appends to dst the memory from byte skip on of the n bytes at offset off of the
// window tag, where the peer places something: it needs RemoteWrite, with the errors of
// Place, whatever skip is. Of a window that has been abandoned there is no loan: it fails
// with another error.
func (t *Table) Lend(dst [][]byte, tag transport.STag,
	off, n, skip uint64) ([][]byte, Loan, error) {
	e, err := t.acquire(tag)
	if err != nil {
		return dst, Loan{}, err
	}
	if err = e.check(transport.RemoteWrite, off, n); err == nil && e.abandoned {
		err = errAbandoned
	}
	if err != nil {
		e.mu.Unlock()
		return dst, Loan{}, err
	}
	rest, first := seek(e.list, off-e.base+skip)
	for n -= skip; n > 0; rest = rest[1:] {
		b := rest[0].Bytes[first:]
		b = b[:min(n, uint64(len(b)))]
		if len(b) > 0 {
			dst = append(dst, b)
		}
		n, first = n-uint64(len(b)), 0
	}
	return dst, Loan{e}, nil
}

var errAbandoned = errors.New("window abandoned")
