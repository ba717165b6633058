package nfsfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
)

// IOFS returns the tree as an fs.FS, for fs.WalkDir, http.FS and the like. It also implements
// ReadDirFS, StatFS, ReadFileFS, SubFS and ReadLinkFS. When ctx ends, all its methods fail. Names
// must satisfy fs.ValidPath: a file whose name is not UTF-8 is listed, but cannot be opened.
func (f *FS) IOFS(ctx context.Context) fs.FS { return &view{f, ctx, "."} }

// view is an FS below a directory.
type view struct {
	fs  *FS
	ctx context.Context
	dir string
}

var (
	_ fs.ReadDirFS  = (*view)(nil)
	_ fs.StatFS     = (*view)(nil)
	_ fs.ReadFileFS = (*view)(nil)
	_ fs.SubFS      = (*view)(nil)
	_ fs.ReadLinkFS = (*view)(nil)
)

// name returns the name within the FS.
func (v *view) name(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", pathError(op, name, fs.ErrInvalid)
	}
	return path.Join(v.dir, name), nil
}

// err replaces the full name in an error by the view's name.
func (v *view) err(full, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && p.Path == full {
		return pathError(p.Op, name, p.Err)
	}
	return err
}

func (v *view) Open(name string) (fs.File, error) {
	full, err := v.name("open", name)
	if err != nil {
		return nil, err
	}
	o, err := v.fs.Open(v.ctx, full)
	if err != nil {
		return nil, v.err(full, name, err)
	}
	return o, nil
}

func (v *view) Stat(name string) (fs.FileInfo, error) { return v.stat("stat", name, follow) }

func (v *view) Lstat(name string) (fs.FileInfo, error) { return v.stat("lstat", name, noFollow) }

func (v *view) stat(op, name string, last bool) (fs.FileInfo, error) {
	full, err := v.name(op, name)
	if err != nil {
		return nil, err
	}
	i, err := v.fs.stat(v.ctx, op, full, last)
	if err != nil {
		return nil, v.err(full, name, err)
	}
	i.name = path.Base(name) // the root of a view is "."
	return i, nil
}

func (v *view) ReadLink(name string) (string, error) {
	full, err := v.name("readlink", name)
	if err != nil {
		return "", err
	}
	target, err := v.fs.ReadLink(v.ctx, full)
	return target, v.err(full, name, err)
}

func (v *view) ReadDir(name string) ([]fs.DirEntry, error) {
	full, err := v.name("readdir", name)
	if err != nil {
		return nil, err
	}
	list, err := v.fs.ReadDir(v.ctx, full)
	return list, v.err(full, name, err)
}

func (v *view) ReadFile(name string) ([]byte, error) {
	full, err := v.name("readfile", name)
	if err != nil {
		return nil, err
	}
	p, err := v.readFile(full)
	return p, v.err(full, name, err)
}

func (v *view) Sub(dir string) (fs.FS, error) {
	full, err := v.name("sub", dir)
	if err != nil {
		return nil, err
	}
	return &view{v.fs, v.ctx, full}, nil
}

// readFile reads a whole file.
func (v *view) readFile(full string) ([]byte, error) {
	o, err := v.fs.Open(v.ctx, full)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	info, err := o.Stat()
	if err != nil {
		return nil, err
	}
	// Do not trust the size: allocate no more than maxAhead for it, and read even if it is 0.
	p := make([]byte, min(max(0, info.Size()), maxAhead)+1)
	for n := 0; ; {
		m, err := o.ReadAt(p[n:], int64(n))
		if n += m; err == io.EOF {
			return p[:n], nil
		}
		if err != nil {
			return p[:n], err
		}
		p = append(p, make([]byte, len(p))...)
	}
}

// maxAhead is how many bytes are allocated on the word of a file's size.
const maxAhead = 64 << 20
