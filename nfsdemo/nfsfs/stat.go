package nfsfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Stat returns the attributes of a file. It follows symbolic links.
func (f *FS) Stat(ctx context.Context, name string) (*Info, error) {
	return f.stat(ctx, "stat", name, follow)
}

// Lstat is Stat, but returns the attributes of a symbolic link itself.
func (f *FS) Lstat(ctx context.Context, name string) (*Info, error) {
	return f.stat(ctx, "lstat", name, noFollow)
}

func (f *FS) stat(ctx context.Context, op, name string, last bool) (*Info, error) {
	n, err := f.names.find(ctx, name, last)
	if err != nil {
		return nil, pathError(op, name, err)
	}
	return &Info{baseName(name), n.file, n.attr}, nil
}

// ReadLink returns the target of a symbolic link.
func (f *FS) ReadLink(ctx context.Context, name string) (string, error) {
	n, err := f.names.find(ctx, name, noFollow)
	if err == nil && n.attr.Type != nfs3.TypeLnk {
		err = failed(nfs3.ProcReadLink, n.base, nfs3.ErrInval)
	}
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	target, err := f.c.ReadLink(ctx, n.file)
	return target, pathError("readlink", name, err)
}
