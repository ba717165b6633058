package stag

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Loan is memory of a window that the provider fills for the peer. Until Return, nothing else
// touches the window, and Revoke and Abandon wait. So hold a Loan only while copying bytes that are
// there already, and not while waiting for the network.
type Loan struct{ e *entry }

// Return ends a loan.
func (l Loan) Return() { l.e.mu.Unlock() }

// Lend lends memory where the peer places n bytes at offset off of the window tag. It appends that
// memory, without the first skip bytes, to dst. The whole of the n bytes is checked, with the
// errors of Place. An abandoned window cannot be lent: that is another error.
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
