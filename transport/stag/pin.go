package stag

import "github.com/rpcrdma/go-rpcrdma/transport"

// Pin keeps the memory of a window in place. While there is a Pin, Revoke and Abandon do not return
// before the table has called detach for it (see New).
type Pin struct {
	e   *entry
	tag transport.STag
}

// Tag returns the steering tag of the window.
func (p Pin) Tag() transport.STag { return p.tag }

// Pin appends to dst the n bytes at offset off of the window tag, for an RDMA Read of the peer. It
// has the errors of Read. The caller may refer to that memory until Unpin.
func (t *Table) Pin(dst []transport.Slice, tag transport.STag,
	off, n uint64) ([]transport.Slice, Pin, error) {
	e, err := t.acquire(tag)
	if err != nil {
		return dst, Pin{}, err
	}
	defer e.mu.Unlock()
	if err := e.check(transport.RemoteRead, off, n); err != nil {
		return dst, Pin{}, err
	}
	rest, skip := seek(e.list, off-e.base)
	for ; n > 0; rest = rest[1:] {
		k := min(n, uint64(len(rest[0].Bytes)-skip))
		if k > 0 {
			dst = append(dst, rest[0].Sub(skip, int(k)))
		}
		n, skip = n-k, 0
	}
	e.pins++
	return dst, Pin{e, tag}, nil
}

// Lock prevents writes to the window until Unlock. Use it to read the memory, instead of just
// referring to it.
func (p Pin) Lock() { p.e.mu.Lock() }

// Unlock allows writes again.
func (p Pin) Unlock() { p.e.mu.Unlock() }

// Unpin gives a Pin back.
func (t *Table) Unpin(p Pin) {
	p.e.mu.Lock()
	p.e.pins--
	p.e.mu.Unlock()
}

// Check checks whether the window tag permits access need to n bytes at offset off. It fails with
// ErrSTag, ErrAccess or ErrBounds. If n is 0, it checks nothing.
func (t *Table) Check(tag transport.STag, need transport.Access, off, n uint64) error {
	if n == 0 {
		return nil
	}
	e, err := t.acquire(tag)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	return e.check(need, off, n)
}
