package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// holdDir is hold of a directory, whose attributes it returns.
func (fs *FS) holdDir(h *nfs3.FH) (file, nfs3.Fattr, error) {
	f, err := fs.hold(h)
	if err != nil {
		return file{}, nfs3.Fattr{}, err
	}
	a, err := fs.attr(f)
	if err == nil && a.Type != nfs3.TypeDir {
		err = nfs3.ErrNotDir
	}
	if err != nil {
		f.release()
	}
	return f, a, err
}

// child is what a name in a directory stands for.
type child struct {
	st   unix.Statx_t
	attr nfs3.Fattr
}

// child looks a name up, which is neither "." nor "..". Links are not followed, and what is mounted on
// the name is nfs3.ErrAcces.
func (fs *FS) child(dir file, name string) (child, error) {
	var ch child
	if err := statIn(dir.path.fd, name, &ch.st); err != nil {
		return ch, fs.status("lookup", err)
	}
	if !fs.own(&ch.st) {
		fs.foreign(dir, name, &ch.st)
		return ch, nfs3.ErrAcces
	}
	ch.attr = fs.fattr(&ch.st)
	return ch, nil
}

// object returns a child as a client sees it, which may come back with its handle.
func (fs *FS) object(dir file, name string, ch *child) vfs.Object {
	n := fs.intern(keyOf(&ch.st), dir.n, name)
	fs.table.keep()
	return vfs.Object{File: fs.handle(n), Attr: nfs3.PostOpAttrOf(ch.attr)}
}

// reserved reports whether a name is not one of a file in the directory.
func reserved(name string) bool { return name == "." || name == ".." }
