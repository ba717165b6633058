package memfs

import (
	"context"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Symlink makes a symbolic link.
func (fs *FS) Symlink(
	_ context.Context, c *vfs.Cred, dir nfs3.FH, name, path string, set *nfs3.Sattr,
) (vfs.Object, nfs3.WccData, error) {
	return fs.enter(c, &dir, name, &blank{kind: nfs3.TypeLnk, set: *set, path: path, err: checkPath(path)}, mustBeNew)
}

// checkPath checks the path of a symbolic link.
func checkPath(path string) error {
	switch {
	case path == "" || strings.Contains(path, "\x00"):
		return nfs3.ErrInval
	case len(path) > MaxPath:
		return nfs3.ErrNameTooLong
	}
	return nil
}

// ReadLink returns the path in a symbolic link.
func (fs *FS) ReadLink(_ context.Context, _ *vfs.Cred, h nfs3.FH) (string, nfs3.PostOpAttr, error) {
	n, err := fs.rlock(&h)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	defer n.mu.RUnlock()
	if n.kind != nfs3.TypeLnk {
		return "", n.post(), nfs3.ErrInval
	}
	n.accessed()
	return n.path, n.post(), nil
}
