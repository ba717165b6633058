package nfsfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Limits of RemoveAll.
const (
	removeBatch = 256  // names of a directory that are listed at a time
	removeDepth = 2048 // nested directories
	removeFails = 256  // names of a directory that may fail before it gives up
)

// RemoveAll removes a file, or a directory with everything in it. It does not follow symbolic
// links. A name that does not exist is no error. It removes what it can, and returns the first
// error.
func (f *FS) RemoveAll(ctx context.Context, name string) error {
	err := f.names.fresh(func() error {
		p, err := f.names.parent(ctx, name)
		if err == nil {
			r := remover{names: &f.names, above: make(map[nfs3.FH]bool)}
			err = r.removeAll(ctx, p, false)
		}
		return err
	})
	if errors.Is(err, nfs3.ErrNoEnt) {
		return nil
	}
	return pathError("removeall", name, err)
}

// removeAll removes one name. dir says that it is known to be a directory.
func (r *remover) removeAll(ctx context.Context, p place, dir bool) error {
	defer r.names.dirs.changed(p)
	var n node
	if !dir && !p.slash {
		err := r.names.c.Remove(ctx, p.dir, p.base)
		if dir, n = r.refusedDir(ctx, p, err); !dir {
			return err
		}
	}
	if n.base == "" {
		var err error
		if n, err = r.names.look(ctx, p); err != nil {
			return err
		}
		if !n.isDir() {
			return failed(nfs3.ProcRmdir, p.base, nfs3.ErrNotDir)
		}
	}
	if err := r.empty(ctx, n.file); err != nil {
		return err
	}
	return r.names.c.Rmdir(ctx, p.dir, p.base)
}

// empty removes everything in a directory. It lists some names, removes them, and lists again from
// the start, because after changes it is up to the server where a listing continues.
func (r *remover) empty(ctx context.Context, dir nfs3.FH) error {
	if r.above[dir] || len(r.above) == removeDepth {
		return errTooDeep
	}
	r.above[dir] = true
	defer delete(r.above, dir)
	var (
		first  error
		failed = make(map[string]bool)
		gone   map[string]bool // removed in the last round
	)
	for len(failed) < removeFails {
		names, more, err := r.list(ctx, dir, failed)
		if err != nil {
			return errors.Join(first, err)
		}
		again := 0
		removed := make(map[string]bool, len(names))
		for _, e := range names {
			if gone[e.name] {
				again++
			}
			switch err := r.removeAll(ctx, place{dir: dir, base: e.name}, e.dir); {
			case err == nil || errors.Is(err, nfs3.ErrNoEnt):
				removed[e.name] = true
			case ctx.Err() != nil:
				return err
			default:
				failed[e.name] = true
				if first == nil {
					first = err
				}
			}
		}
		switch {
		case len(names) > 0 && again == len(names):
			return errors.Join(first, errRemoved)
		case !more:
			return first
		}
		gone = removed
	}
	return first
}

// listed is a name to remove.
type listed struct {
	name string
	dir  bool
}

// list returns some names of a directory, except those in not, and whether there are more.
func (r *remover) list(
	ctx context.Context, dir nfs3.FH, not map[string]bool,
) (names []listed, more bool, err error) {
	for e, err := range r.names.c.ReadDir(ctx, dir) {
		switch {
		case errors.Is(err, nfs3.ErrStale):
			return nil, false, nil // somebody else has removed the directory
		case err != nil:
			return nil, false, err
		case len(names) == removeBatch:
			return names, true, nil
		case not[e.Name]:
			continue
		}
		names = append(names, listed{e.Name, e.Attr.Present && e.Attr.Attr.Type == nfs3.TypeDir})
	}
	return names, false, nil
}
