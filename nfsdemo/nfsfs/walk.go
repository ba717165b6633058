package nfsfs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxLinks is how many symbolic links one name may lead over, as in Linux.
const maxLinks = 40

// step is one part of a name.
type step struct {
	name   string
	linked bool // it comes from a symbolic link
}

// walk is the resolution of a name.
type walk struct {
	r     *resolver
	chain []nfs3.FH // the directories from the root to where the walk is
	todo  []step    // in reverse order
	links int       // symbolic links followed
	seen  []entry   // names looked up
}

// push adds the parts of a name before the rest of the walk. A slash at the end of a name counts as
// ".".
func (w *walk) push(name string, linked bool) {
	parts := strings.Split(name, "/")
	if n := len(parts) - 1; parts[n] == "" {
		parts[n] = "."
	}
	for _, part := range slices.Backward(parts) {
		if part != "" {
			w.todo = append(w.todo, step{part, linked})
		}
	}
}

func (w *walk) run(ctx context.Context, last bool) (node, error) {
	at := node{file: w.here(), attr: nfs3.Fattr{Type: nfs3.TypeDir}}
	known := false // at has all attributes, not only the type
	for len(w.todo) > 0 {
		s := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if !at.isDir() {
			return node{}, failed(nfs3.ProcLookup, s.name, nfs3.ErrNotDir)
		}
		switch s.name {
		case ".":
			continue
		case "..":
			if len(w.chain) > 1 {
				w.chain = w.chain[:len(w.chain)-1]
			} else if s.linked {
				return node{}, ErrEscape
			}
			at, known = node{file: w.here(), attr: at.attr}, false
			continue
		}
		n, err := w.look(ctx, s.name)
		if err != nil {
			if len(w.todo) > 0 {
				n = node{}
			}
			return n, err
		}
		at, known = n, true
		switch {
		case n.isDir():
			w.chain = append(w.chain, n.file)
		case n.attr.Type == nfs3.TypeLnk && (last || len(w.todo) > 0):
			if err := w.follow(ctx, &n); err != nil {
				return node{}, err
			}
			at, known = node{file: w.here(), attr: nfs3.Fattr{Type: nfs3.TypeDir}}, false
		}
	}
	if !known {
		var err error
		if at.attr, err = w.r.c.GetAttr(ctx, at.file); err != nil {
			return node{}, err
		}
	}
	return at, nil
}

// here returns the directory in which the walk is.
func (w *walk) here() nfs3.FH { return w.chain[len(w.chain)-1] }

// look looks a name up.
func (w *walk) look(ctx context.Context, name string) (node, error) {
	n := node{dir: w.here(), base: name}
	w.seen = append(w.seen, entry{n.dir, name})
	o, err := w.r.c.Lookup(ctx, n.dir, name)
	if err != nil {
		if !errors.Is(err, nfs3.ErrNoEnt) {
			n = node{}
		}
		return n, err
	}
	n.file = o.File
	n.attr, err = w.r.attrs(ctx, o)
	return n, err
}

// follow continues the walk at the target of a symbolic link.
func (w *walk) follow(ctx context.Context, n *node) error {
	if w.links++; w.links > maxLinks {
		return ErrLoop
	}
	target, err := w.r.c.ReadLink(ctx, n.file)
	if err != nil {
		return err
	}
	if target == "" || strings.IndexByte(target, 0) >= 0 {
		return failed(nfs3.ProcReadLink, n.base, nfs3.ErrNoEnt)
	}
	if target[0] == '/' {
		rest, ok := inExport(w.r.export, target)
		if !ok {
			return ErrEscape
		}
		w.chain, target = w.chain[:1], rest
	}
	w.push(target, true)
	return nil
}

// inExport returns the part of an absolute path that is below the export.
func inExport(export, name string) (rest string, ok bool) {
	if !strings.HasPrefix(export, "/") {
		return "", false
	}
	rest = name
	for part := range strings.SplitSeq(export, "/") {
		if part == "" || part == "." {
			continue
		}
		var first string
		if first, rest = cutFirst(rest); first != part {
			return "", false
		}
	}
	return rest, true
}

// cutFirst cuts off the first part of a path.
func cutFirst(name string) (first, rest string) {
	for name != "" {
		first, rest, _ = strings.Cut(name, "/")
		if first != "" && first != "." {
			return first, "/" + rest
		}
		name = rest
	}
	return "", ""
}
