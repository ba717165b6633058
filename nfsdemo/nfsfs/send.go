package nfsfs

import (
	"io"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// write writes p, at most the size of one WRITE. The server may split it into several. The caller
// may reuse p afterwards.
func (u *unstable) write(p []byte, off int64) (n int, err error) {
	if err := u.reserve(len(p)); err != nil {
		return 0, err
	}
	for n < len(p) {
		m, err := u.send(p[n:], off+int64(n), nil, 0)
		if err != nil {
			u.release(len(p) - n)
			return n, err
		}
		n += m
	}
	return n, nil
}

// writeBuffer writes n bytes of a buffer, which are reserved, and takes over the buffer.
func (u *unstable) writeBuffer(b *buffer, n int, off int64) error {
	keep := b
	if n <= len(b.mem)/2 {
		keep = nil // copy instead: a large buffer with little data wastes memory
	}
	u.mu.Lock()
	b.refs++
	u.mu.Unlock()
	var err error
	at := 0
	for at < n && err == nil {
		var m int
		m, err = u.send(b.mem[at:n], off+int64(at), keep, at)
		at += m
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unhold(n - at)
	u.unref(b)
	return err
}

// send makes one WRITE of reserved bytes. It keeps those that the server may lose: in b from at on
// if b is set, or else in a copy.
func (u *unstable) send(p []byte, off int64, b *buffer, at int) (int, error) {
	u.gate.RLock()
	defer u.gate.RUnlock()
	r, err := u.call(p, off, u.f.stable)
	if err != nil {
		return 0, err
	}
	if r.Committed == nfs3.Unstable && b == nil {
		u.copy(p[:r.N], off, r.Verf)
		return r.N, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Committed == nfs3.Unstable {
		b.used += r.N
		u.wrote(off, b, at, r.N, r.Verf)
		u.kick()
	} else {
		u.cut(off, off+int64(r.N))
		u.unhold(r.N)
	}
	return r.N, nil
}

// call is a WRITE. A server that stores nothing is an error.
func (u *unstable) call(p []byte, off int64, how nfs3.StableHow) (nfsclient.WriteResult, error) {
	r, err := u.f.fs.c.Write(u.f.ctx, u.f.handle, uint64(off), p, how)
	if err == nil && r.N == 0 {
		err = failed(nfs3.ProcWrite, "", io.ErrShortWrite)
	}
	return r, err
}

// copy keeps a copy of the bytes written at off. Many small WRITEs share a buffer.
func (u *unstable) copy(p []byte, off int64, verf nfs3.Verifier) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(p) > 0 {
		b, at, n := u.room(len(p))
		b.refs++
		u.mu.Unlock() // do not hold up others while copying
		copy(b.mem[at:], p[:n])
		u.mu.Lock()
		u.wrote(off, b, at, n, verf)
		u.unref(b)
		p = p[n:]
		off += int64(n)
	}
	u.kick()
}

// room returns room for up to n reserved bytes. mu is held.
func (u *unstable) room(n int) (b *buffer, at, m int) {
	if b = u.fill; b != nil && b.used == len(b.mem) {
		u.fill = nil
		u.unref(b)
	}
	if u.fill == nil {
		size := u.f.wsize
		if !u.filled && n < smallBuffer {
			size = min(size, smallBuffer)
		}
		u.fill, u.filled = u.f.fs.buffers.get(size), true
		u.fill.refs = 1
	}
	b = u.fill
	at = b.used
	m = min(n, len(b.mem)-at)
	b.used += m
	return b, at, m
}

// setAttr is a SETATTR. Data that it truncates is not written again.
func (u *unstable) setAttr(set nfs3.Sattr) error {
	u.gate.RLock()
	defer u.gate.RUnlock()
	_, err := u.f.fs.c.SetAttr(u.f.ctx, u.f.handle, set, nil)
	if err != nil || !set.Size.Set || set.Size.To > maxOffset {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cut(int64(set.Size.To), maxOffset)
	return nil
}
