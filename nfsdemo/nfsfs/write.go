package nfsfs

import (
	"io"
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Write writes at the offset, or at the end of a file that was opened to append.
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

// WriteAt writes p at off, with several WRITEs under way if it is long. The data is copied, unless
// the server says that it is on stable storage already: it may have to be written again when p is
// the caller's again. Of two calls that overlap, that which began after the other had returned
// wins, also when the server loses both.
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
		err = f.unstable.sync() // mostly there is nothing to do
	}
	return n, err
}

// writable returns why n bytes cannot be written at off.
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

// toEnd moves the offset to the end of a file that was opened to append.
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
