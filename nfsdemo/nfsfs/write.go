package nfsfs

import (
	"io"
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Write writes at the offset, or at the end of a file that was opened with O_APPEND.
func (f *File) Write(p []byte) (int, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("write", err)
	}
	defer f.leave()
	f.offset.Lock()
	defer f.offset.Unlock()
	if err := f.toEnd(); err != nil {
		return 0, f.err("write", err)
	}
	n, err := f.writeAt(p, f.off)
	f.off += int64(n)
	return n, f.err("write", err)
}

// WriteAt writes p at off, by several parallel WRITEs if p is long. It keeps a copy of the data
// unless the server stores it at once, because it may have to write it again later. If two calls
// overlap and one began after the other had returned, its data wins, even if the server loses both.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("write", err)
	}
	defer f.leave()
	if f.append {
		return 0, f.err("write", invalid{errAppend})
	}
	n, err := f.writeAt(p, off)
	return n, f.err("write", err)
}

func (f *File) writeAt(p []byte, off int64) (n int, err error) {
	if err := f.writable(off, len(p)); err != nil || len(p) == 0 {
		return 0, err
	}
	if len(p) <= f.wsize {
		n, err = f.unstable.write(p, off)
	} else {
		n, err = inParallel(len(p), f.wsize, f.fs.cfg.Parallel, func(from, to int) (int, error) {
			return f.unstable.write(p[from:to], off+int64(from))
		})
	}
	if err == nil && f.stable == nfs3.FileSync {
		err = f.unstable.sync() // usually there is nothing to commit
	}
	return n, err
}

// writable returns nil, or why n bytes cannot be written at off.
func (f *File) writable(off int64, n int) error {
	switch {
	case off < 0:
		return invalid{errNegative}
	case !f.writes:
		return failed(nfs3.ProcWrite, "", nfs3.ErrAcces)
	case int64(n) > math.MaxInt64-off:
		return failed(nfs3.ProcWrite, "", nfs3.ErrFBig)
	}
	return nil
}

// toEnd moves the offset to the end if the file was opened with O_APPEND.
func (f *File) toEnd() error {
	if !f.append {
		return nil
	}
	to, err := f.seek(0, io.SeekEnd)
	if err == nil {
		f.off = to
	}
	return err
}
