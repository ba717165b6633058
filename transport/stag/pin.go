package stag

import "github.com/rpcrdma/go-rpcrdma/transport"

// Pin is a hold on the memory of a window: while there is one, that memory stays what the
// window shows.
type Pin struct {
	e   *entry
	tag transport.STag
}

// Tag is the steering tag of the window.
func (p Pin) Tag() transport.STag { return p.tag }

// Pin appends to dst the n bytes at offset off of the window tag, which the peer reads: it
// needs RemoteRead, with the errors of Read. They may be referred to until Unpin.
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

// Lock keeps others from placing anything in the window until Unlock: for who reads the
// memory, rather than refers to it.
func (p Pin) Lock() { p.e.mu.Lock() }

// Unlock is the end of Lock.
func (p Pin) Unlock() { p.e.mu.Unlock() }

// Unpin ends a hold.
func (t *Table) Unpin(p Pin) {
	p.e.mu.Lock()
	p.e.pins--
	p.e.mu.Unlock()
}

// Check says whether the peer may do need to n bytes at offset off of the window tag:
// ErrSTag, ErrAccess, ErrBounds. Nothing at all is checked when n is 0.
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
