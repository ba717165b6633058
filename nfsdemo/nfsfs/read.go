package nfsfs

import (
	"io"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Read reads at the offset.
func (f *File) Read(p []byte) (int, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("read", err)
	}
	defer f.leave()
	f.offset.Lock()
	defer f.offset.Unlock()
	n, err := f.readAt(p, f.off)
	f.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt reads len(p) bytes at off, by several parallel READs if p is long. If the transport can,
// it puts the data directly into p. If it reads fewer bytes it returns an error, which is io.EOF at
// the end of the file.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("read", err)
	}
	defer f.leave()
	return f.readAt(p, off)
}

// ReadAtInfo is ReadAt with READs one after the other: one READ, if p is not longer than its size.
// It returns the attributes that came with the last READ, or nil if the server sent none.
func (f *File) ReadAtInfo(p []byte, off int64) (n int, i *Info, err error) {
	if err := f.enter(); err != nil {
		return 0, nil, f.err("read", err)
	}
	defer f.leave()
	if n, err := f.readAt(nil, off); err != nil {
		return n, nil, err
	}
	for n < len(p) && err == nil {
		var r nfsclient.ReadResult
		r, err = f.fs.c.Read(f.ctx, f.handle, uint64(off)+uint64(n), p[n:min(len(p), n+f.rsize)])
		switch n += r.N; {
		case err != nil:
			return n, nil, f.err("read", err)
		case r.N == 0 && !r.EOF:
			return n, nil, f.err("read", failed(nfs3.ProcRead, "", io.ErrNoProgress))
		case r.EOF && n < len(p):
			err = io.EOF
		}
		i = nil
		if r.Attr.Present {
			i = &Info{baseName(f.name), f.handle, r.Attr.Attr}
		}
	}
	return n, i, err
}

func (f *File) readAt(p []byte, off int64) (n int, err error) {
	switch {
	case off < 0:
		return 0, f.err("read", invalid{errNegative})
	case !f.reads:
		return 0, f.err("read", failed(nfs3.ProcRead, "", nfs3.ErrAcces))
	case f.dir:
		return 0, f.err("read", failed(nfs3.ProcRead, "", nfs3.ErrIsDir))
	case len(p) == 0:
		return 0, nil
	case len(p) <= f.rsize:
		var eof bool
		if n, eof, err = f.readFull(p, off); eof && n < len(p) {
			err = io.EOF
		}
	default:
		n, err = inParallel(len(p), f.rsize, f.fs.cfg.Parallel, func(from, to int) (int, error) {
			n, eof, err := f.readFull(p[from:to], off+int64(from))
			if eof && from+n < len(p) {
				err = io.EOF
			}
			return n, err
		})
	}
	if err != nil && err != io.EOF {
		err = f.err("read", err)
	}
	return n, err
}

// readFull reads len(p) bytes, at most the size of one READ, unless the file ends before. The
// server may return fewer bytes than it was asked for.
func (f *File) readFull(p []byte, off int64) (n int, eof bool, err error) {
	for n < len(p) && !eof {
		r, err := f.fs.c.Read(f.ctx, f.handle, uint64(off)+uint64(n), p[n:])
		if err == nil && r.N == 0 && !r.EOF {
			err = failed(nfs3.ProcRead, "", io.ErrNoProgress)
		}
		if err != nil {
			return n, false, err
		}
		n += r.N
		eof = r.EOF
	}
	return n, eof, nil
}
