package nfsserver

import (
	"context"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// crossing is the place where the file system of one export is mounted in another.
type crossing struct {
	outer, inner *export
	dirs         []string // path from the root of outer to the directory with the mount point
	name         string   // of the mount point
}

// cross finds the crossings of a table. All exports must have been added.
func (t *table) cross() {
	for _, in := range t.list {
		var out *export
		for _, e := range t.list {
			if e != in && isBelow(in.Path, e.Path) && (out == nil || len(e.Path) > len(out.Path)) {
				out = e
			}
		}
		if out == nil || !out.crossMnt {
			continue
		}
		rest := strings.Trim(strings.TrimPrefix(in.Path, out.Path), "/")
		c := &crossing{outer: out, inner: in, name: path.Base(rest)}
		if dir := path.Dir(rest); dir != "." {
			c.dirs = strings.Split(dir, "/")
		}
		in.above = c
		if out.below == nil {
			out.below = make(map[string][]*crossing)
		}
		out.below[c.name] = append(out.below[c.name], c)
	}
}

// isBelow reports whether the clean path p lies below top.
func isBelow(p, top string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(top, "/"))
	return ok && len(rest) > 1 && rest[0] == '/'
}

// dir returns the directory with the mount point. It looks the path up each time, because
// directories may have changed since the table was made.
func (c *crossing) dir(ctx context.Context) (nfs3.FH, error) {
	at := c.outer.FS.Root()
	for _, name := range c.dirs {
		o, _, err := c.outer.FS.Lookup(ctx, &vfs.Cred{}, at, name)
		if err != nil {
			return at, err
		}
		at = o.File
	}
	return at, nil
}

// crossed does a LOOKUP that leads into another export. It returns false if the name does not.
func (q *request) crossed(
	ctx context.Context, a *nfs3.LookupArgs, r *nfs3.LookupRes,
) (bool, error) {
	e := q.entered
	if c := e.above; c != nil && a.What.Name == ".." && a.What.Dir == e.FS.Root() {
		dir, err := c.dir(ctx)
		if err != nil {
			return true, err
		}
		return true, q.cross(ctx, e, c.outer, a.What.Dir, dir, r)
	}
	for _, c := range e.below[a.What.Name] {
		if dir, err := c.dir(ctx); err == nil && dir == a.What.Dir {
			return true, q.cross(ctx, e, c.inner, dir, c.inner.FS.Root(), r)
		}
	}
	return false, nil
}

// cross fills in the results of a LOOKUP that leads from a directory of one export to a directory
// of another.
func (q *request) cross(
	ctx context.Context, from, to *export, dir, file nfs3.FH, r *nfs3.LookupRes,
) error {
	may, attr, err := from.FS.Access(ctx, &q.cred, dir, nfs3.AccessLookup)
	if err != nil {
		return err
	}
	r.Dir = attr
	if may == 0 {
		return nfs3.ErrAcces
	}
	if err := q.enter(to, byFlavor); err != nil {
		return err
	}
	found, err := to.FS.GetAttr(ctx, file)
	if err != nil {
		return err
	}
	r.File, r.Attr = file, nfs3.PostOpAttrOf(found)
	return nil
}
