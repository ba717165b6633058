package nfsfs

import (
	"io"
	"io/fs"
	"iter"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// listing is the state of ReadDir.
type listing struct {
	next func() (*Info, error, bool)
	stop func()
	err  error // why it ended
}

// ReadDir returns the next n entries of a directory in the server's order, and io.EOF after the
// last. If n is not positive it returns all remaining entries.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if err := f.enter(); err != nil {
		return nil, f.err("readdir", err)
	}
	defer f.leave()
	if !f.dir {
		return nil, f.err("readdir", failed(nfs3.ProcReadDirPlus, "", nfs3.ErrNotDir))
	}
	f.offset.Lock()
	defer f.offset.Unlock()
	if f.list == nil {
		f.list = new(listing)
		f.list.next, f.list.stop = iter.Pull2(f.fs.entries(f.ctx, f.name, f.handle))
	}
	return f.list.take(n)
}

func (l *listing) take(n int) ([]fs.DirEntry, error) {
	list := []fs.DirEntry{}
	for (n <= 0 || len(list) < n) && l.err == nil {
		i, err, ok := l.next()
		switch {
		case !ok:
			l.err = io.EOF
		case err != nil && i == nil:
			l.err = err
		case err != nil:
			return list, err
		default:
			list = append(list, i)
		}
	}
	if n > 0 && len(list) > 0 || n <= 0 && l.err == io.EOF {
		return list, nil
	}
	return list, l.err
}
