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

// Entries lists a directory, without "." and "..", in the server's order, as it comes. Attributes
// and handles that the server leaves out are asked for; when that fails, the error comes with an
// Info that has no more than a name, and the list goes on. An error without an Info ends it.
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

// known lists a directory of which it is remembered where it is, and reports whether that was so.
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

// entries lists a directory; name is for errors.
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

// complete returns an entry with what the server has left out.
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

// ReadDir lists a directory, sorted by name. With an error it returns what it has, without those
// entries of which the server has not told more than the name.
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
