//go:build soak

package crowd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/rpcrdma/go-rpcrdma/internal/treemodel"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// remote is the files of a client's directory.
type remote struct {
	ctx context.Context
	fs  *nfsfs.FS
	top string
}

var _ treemodel.Files = remote{}

func (r remote) at(name string) string { return path.Join(r.top, name) }

func (r remote) Create(name string, data []byte) error {
	f, err := r.fs.OpenFile(r.ctx, r.at(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (r remote) WriteAt(name string, data []byte, off int64) error {
	f, err := r.fs.OpenFile(r.ctx, r.at(name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, off)
	return errors.Join(err, f.Close())
}

func (r remote) ReadFile(name string) ([]byte, error) {
	return fs.ReadFile(r.fs.IOFS(r.ctx), r.at(name))
}

func (r remote) Truncate(name string, size int64) error {
	return r.fs.Truncate(r.ctx, r.at(name), size)
}

func (r remote) Mkdir(name string) error      { return r.fs.Mkdir(r.ctx, r.at(name), 0o755) }
func (r remote) Remove(name string) error     { return r.fs.Remove(r.ctx, r.at(name)) }
func (r remote) Rename(from, to string) error { return r.fs.Rename(r.ctx, r.at(from), r.at(to)) }
func (r remote) Link(from, to string) error   { return r.fs.Link(r.ctx, r.at(from), r.at(to)) }

func (r remote) Symlink(target, name string) error {
	return r.fs.Symlink(r.ctx, target, r.at(name))
}

func (r remote) ReadLink(name string) (string, error) { return r.fs.ReadLink(r.ctx, r.at(name)) }

func (r remote) Chmod(name string, mode fs.FileMode) error {
	return r.fs.Chmod(r.ctx, r.at(name), mode)
}

func (r remote) ReadDir(name string) ([]fs.DirEntry, error) {
	return r.fs.ReadDir(r.ctx, r.at(name))
}

func (r remote) Lstat(name string) (fs.FileInfo, int, error) {
	info, err := r.fs.Lstat(r.ctx, r.at(name))
	if err != nil {
		return nil, 0, err
	}
	return info, int(info.Attr().Nlink), nil
}
