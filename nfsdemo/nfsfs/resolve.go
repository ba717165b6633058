package nfsfs

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Whether a symbolic link at the end of a name is followed.
const (
	follow   = true
	noFollow = false
)

// resolver resolves names.
type resolver struct {
	c      *nfsclient.Client
	root   nfs3.FH
	export string // Config.Export
	dirs   dirCache
}

// node is the file that a name leads to.
type node struct {
	dir  nfs3.FH // its directory
	base string  // its name there; "" for the root, and for names that end in ".."
	file nfs3.FH
	attr nfs3.Fattr
}

func (n *node) isDir() bool { return n.attr.Type == nfs3.TypeDir }

// find resolves a name. last says whether it follows a symbolic link at the end. If only the last
// part does not exist, it returns NFS3ERR_NOENT and a node with dir and base.
func (r *resolver) find(ctx context.Context, name string, last bool) (node, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return node{}, fs.ErrInvalid
	}
	dir, _, _ := split(name)
	for {
		w, known, err := r.directory(ctx, dir)
		if err != nil {
			return node{}, err
		}
		w.push(name[len(dir):], false)
		n, err := w.run(ctx, last)
		if !known || !errors.Is(err, nfs3.ErrStale) {
			return n, err
		}
		r.dirs.drop(dir) // somebody has removed the directory
	}
}

// place is a name in a directory. It need not exist.
type place struct {
	dir   nfs3.FH
	base  string
	slash bool // the name ended in a slash, so it must be a directory
}

// parent resolves all but the last part of a name. The last part must not be missing, "." or "..".
func (r *resolver) parent(ctx context.Context, name string) (place, error) {
	dir, base, slash := split(name)
	if base == "" || base == "." || base == ".." {
		return place{}, fs.ErrInvalid
	}
	if strings.IndexByte(name, 0) >= 0 {
		return place{}, fs.ErrInvalid
	}
	w, _, err := r.directory(ctx, dir)
	if err != nil {
		return place{}, err
	}
	return place{w.here(), base, slash}, nil
}

// leaf is parent for a name that must not be a directory.
func (r *resolver) leaf(ctx context.Context, name string) (place, error) {
	p, err := r.parent(ctx, name)
	if err == nil && p.slash {
		err = failed(nfs3.ProcLookup, p.base, nfs3.ErrNoEnt)
	}
	return p, err
}

// directory walks to a directory. known says that the cache had it.
func (r *resolver) directory(ctx context.Context, dir string) (w walk, known bool, err error) {
	if dir == "" {
		return walk{r: r, chain: []nfs3.FH{r.root}}, false, nil
	}
	w, changes, known := r.dirs.get(r, dir)
	if known {
		return w, true, nil
	}
	w.push(dir, false)
	n, err := w.run(ctx, follow)
	if err == nil && !n.isDir() {
		err = failed(nfs3.ProcLookup, n.base, nfs3.ErrNotDir)
	}
	if err != nil {
		return walk{}, false, err
	}
	r.dirs.put(dir, &w, changes)
	return w, false, nil
}

// look looks a place up.
func (r *resolver) look(ctx context.Context, p place) (node, error) {
	w := walk{r: r, chain: []nfs3.FH{p.dir}}
	return w.look(ctx, p.base)
}

// attrs returns the attributes of a file. It asks the server if a reply had none.
func (r *resolver) attrs(ctx context.Context, o nfsclient.Object) (nfs3.Fattr, error) {
	if o.Attr.Present {
		return o.Attr.Attr, nil
	}
	return r.c.GetAttr(ctx, o.File)
}

// fresh calls do. If a directory was stale that the cache had, it clears the cache and calls do
// again.
func (r *resolver) fresh(do func() error) error {
	err := do()
	if errors.Is(err, nfs3.ErrStale) && r.dirs.clear() {
		err = do()
	}
	return err
}
