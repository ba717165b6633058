package dirfs

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// tree leads from handles to files that are open. A name leads there if it is still the file's;
// the scanner finds those that the host has moved.
type tree struct {
	host    host
	table   table
	descs   descs
	scanner scanner
	root    *node

	// renames is held while a file is renamed, and for reading while names are followed.
	renames sync.RWMutex
}

// hold finds the file of a handle. The caller releases it.
func (t *tree) hold(h *nfs3.FH) (file, error) {
	n, err := t.table.find(h)
	if err != nil {
		return file{}, err
	}
	return t.holdNode(n)
}

// holdDir is hold of a directory.
func (t *tree) holdDir(h *nfs3.FH) (dir, error) {
	f, err := t.hold(h)
	if err != nil {
		return dir{}, err
	}
	a, err := f.attr()
	if err == nil && a.Type != nfs3.TypeDir {
		err = nfs3.ErrNotDir
	}
	if err != nil {
		f.release()
	}
	return dir{f}, err
}

// holdNode is hold of a file that is known already.
func (t *tree) holdNode(n *node) (file, error) {
	d, err := t.walkTo(n)
	if err == nil && d == nil {
		if err = t.scanner.find(t, n.key); err == nil {
			// The scan has entered what it found.
			d, err = t.walkTo(n)
		}
	}
	switch {
	case err != nil:
		return file{}, t.host.status("open", err)
	case d == nil:
		t.forget(n)
		return file{}, nfs3.ErrStale
	}
	return file{t, n, d}, nil
}

// walkTo returns a descriptor of a node, which is opened by its hints if need be. It returns nil
// when none leads to it.
func (t *tree) walkTo(n *node) (*desc, error) {
	if d := t.descs.path(n); d != nil {
		return d, nil
	}
	t.renames.RLock()
	defer t.renames.RUnlock()
	w := walk{t: t}
	return w.open(n)
}

// forget drops a file that is gone, and its descriptors.
func (t *tree) forget(n *node) {
	t.table.forget(n)
	if n != t.root {
		t.descs.drop(n)
	}
}
