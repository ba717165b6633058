package stag

import "github.com/rpcrdma/go-rpcrdma/transport"

// Place writes p to offset off of the window tag for the peer, as an RDMA Write. The window must
// have RemoteWrite. Place fails with ErrSTag, ErrAccess or ErrBounds, and writes nothing then. If p
// is empty, it checks nothing.
func (t *Table) Place(tag transport.STag, off uint64, p []byte) error {
	list := [1]transport.Slice{{Bytes: p}}
	return t.Write(tag, off, list[:])
}

// Write is Place for the bytes in the list src.
func (t *Table) Write(tag transport.STag, off uint64, src []transport.Slice) error {
	n := transport.TotalLen(src)
	if n == 0 {
		return nil
	}
	e, err := t.acquire(tag)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	if err := e.check(transport.RemoteWrite, off, uint64(n)); err != nil {
		return err
	}
	if !e.abandoned {
		rest, skip := seek(e.list, off-e.base)
		move(rest, skip, src, 0)
	}
	return nil
}

// Read fills dst from offset off of the window tag for the peer, as an RDMA Read. The window must
// have RemoteRead. Read fails with ErrSTag, ErrAccess or ErrBounds, and leaves dst alone then. If
// dst is empty, it checks nothing.
func (t *Table) Read(dst []transport.Slice, tag transport.STag, off uint64) error {
	n := transport.TotalLen(dst)
	if n == 0 {
		return nil
	}
	e, err := t.acquire(tag)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	if err := e.check(transport.RemoteRead, off, uint64(n)); err != nil {
		return err
	}
	rest, skip := seek(e.list, off-e.base)
	move(dst, 0, rest, skip)
	return nil
}

// Copy copies bytes from src to dst until one of them ends, and returns their number. Each list
// counts as contiguous memory.
func Copy(dst, src []transport.Slice) int { return move(dst, 0, src, 0) }

// seek finds byte off of list. It is byte skip of the first slice of rest.
func seek(list []transport.Slice, off uint64) (rest []transport.Slice, skip int) {
	for i, s := range list {
		if off < uint64(len(s.Bytes)) {
			return list[i:], int(off)
		}
		off -= uint64(len(s.Bytes))
	}
	return nil, 0
}

// move is Copy beginning at byte dskip of dst's first slice and sskip of src's.
func move(dst []transport.Slice, dskip int, src []transport.Slice, sskip int) int {
	var d, s []byte
	total := 0
	for {
		for len(d) == 0 {
			if len(dst) == 0 {
				return total
			}
			d, dst, dskip = dst[0].Bytes[dskip:], dst[1:], 0
		}
		for len(s) == 0 {
			if len(src) == 0 {
				return total
			}
			s, src, sskip = src[0].Bytes[sskip:], src[1:], 0
		}
		n := copy(d, s)
		d, s, total = d[n:], s[n:], total+n
	}
}
