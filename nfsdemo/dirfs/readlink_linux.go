package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// maxLink is the longest path of a symbolic link in bytes, as in Linux.
const maxLink = unix.PathMax - 1

// ReadLink returns the path in a symbolic link.
func (fs *FS) ReadLink(
	_ context.Context, _ *vfs.Cred, h nfs3.FH,
) (string, nfs3.PostOpAttr, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	defer f.release()
	a, err := f.attr()
	if err != nil {
		return "", nfs3.PostOpAttr{}, err
	}
	if a.Type != nfs3.TypeLnk {
		return "", nfs3.PostOpAttrOf(a), nfs3.ErrInval
	}
	buf := make([]byte, unix.PathMax)
	n, err := retry(func() (int, error) { return unix.Readlinkat(f.path.fd, "", buf) })
	if err != nil {
		return "", nfs3.PostOpAttrOf(a), fs.tree.host.status("readlink", err)
	}
	return string(buf[:n]), f.post(), nil
}
