package nfsfs

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Entries yields the entries of a directory as they arrive, in the server's order, without "." and
// "..". It asks for attributes and handles that the server leaves out. If that fails for an entry,
// it yields the error with an Info that has only a name, and goes on. An error without an Info is
// the last.
func (f *FS) Entries(ctx context.Context, name string) iter.Seq2[*Info, error] {
	return func(yield func(*Info, error) bool) {
		if f.known(ctx, name, yield) {
			return
		}
		n, err := f.names.find(ctx, name, follow)
		if err == nil && !n.isDir() {
			err = failed(nfs3.ProcReadDirPlus, n.base, nfs3.ErrNotDir)
		}
		if err != nil {
			yield(nil, pathError("readdir", name, err))
			return
		}
		f.entries(ctx, name, n.file)(yield)
	}
}

// known lists a directory whose handle is remembered. It returns false, and yields nothing, if
// there is none.
func (f *FS) known(ctx context.Context, name string, yield func(*Info, error) bool) bool {
	dir := strings.TrimRight(name, "/") + "/"
	w, _, known := f.names.dirs.get(&f.names, dir)
	if !known {
		return false
	}
	first := true
	for i, err := range f.entries(ctx, name, w.here()) {
		if first && i == nil && errors.Is(err, nfs3.ErrStale) {
			f.names.dirs.drop(dir) // somebody has removed it
			return false
		}
		if first = false; !yield(i, err) {
			break
		}
	}
	return true
}

// entries lists a directory. name is for errors.
func (f *FS) entries(ctx context.Context, name string, dir nfs3.FH) iter.Seq2[*Info, error] {
	return func(yield func(*Info, error) bool) {
		for e, err := range f.c.ReadDir(ctx, dir) {
			if err != nil {
				yield(nil, pathError("readdir", name, err))
				return
			}
			i, err := f.complete(ctx, dir, &e)
			switch {
			case errors.Is(err, nfs3.ErrNoEnt) || errors.Is(err, nfs3.ErrStale):
				continue // removed in between
			case err != nil:
				err = pathError("lstat", below(name, e.Name), err)
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

// complete returns an entry, with what the server has left out.
func (f *FS) complete(ctx context.Context, dir nfs3.FH, e *nfs3.Entry) (*Info, error) {
	i := &Info{name: e.Name}
	o := nfsclient.Object{File: e.File.FH, Attr: e.Attr}
	if !e.File.Present {
		var err error
		if o, err = f.c.Lookup(ctx, dir, e.Name); err != nil {
			return i, err
		}
	}
	a, err := f.names.attrs(ctx, o)
	if err != nil {
		return i, err
	}
	i.handle, i.attr = o.File, a
	return i, nil
}

// ReadDir returns the entries of a directory, sorted by name. With the first error it also returns
// the entries that it could read completely.
func (f *FS) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	var first error
	for i, err := range f.Entries(ctx, name) {
		if err == nil {
			list = append(list, i)
		} else if first == nil {
			first = err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, first
}
