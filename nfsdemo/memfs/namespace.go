package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func (fs *FS) Symlink(context.Context, *vfs.Cred, nfs3.FH, string, string, *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
	return vfs.Object{}, nfs3.WccData{}, nfs3.ErrNotSupp
}

func (fs *FS) ReadLink(context.Context, *vfs.Cred, nfs3.FH) (string, nfs3.PostOpAttr, error) {
	return "", nfs3.PostOpAttr{}, nfs3.ErrNotSupp
}

func (fs *FS) Mknod(context.Context, *vfs.Cred, nfs3.FH, string, nfs3.FileType, nfs3.Specdata, *nfs3.Sattr) (vfs.Object, nfs3.WccData, error) {
	return vfs.Object{}, nfs3.WccData{}, nfs3.ErrNotSupp
}

func (fs *FS) Remove(context.Context, *vfs.Cred, nfs3.FH, string) (nfs3.WccData, error) {
	return nfs3.WccData{}, nfs3.ErrNotSupp
}

func (fs *FS) Rmdir(context.Context, *vfs.Cred, nfs3.FH, string) (nfs3.WccData, error) {
	return nfs3.WccData{}, nfs3.ErrNotSupp
}

func (fs *FS) Rename(context.Context, *vfs.Cred, nfs3.FH, string, nfs3.FH, string) (nfs3.WccData, nfs3.WccData, error) {
	return nfs3.WccData{}, nfs3.WccData{}, nfs3.ErrNotSupp
}

func (fs *FS) Link(context.Context, *vfs.Cred, nfs3.FH, nfs3.FH, string) (nfs3.PostOpAttr, nfs3.WccData, error) {
	return nfs3.PostOpAttr{}, nfs3.WccData{}, nfs3.ErrNotSupp
}
