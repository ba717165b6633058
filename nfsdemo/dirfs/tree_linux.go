package dirfs

import (
	"crypto/subtle"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// tree finds and opens the files of handles.
type tree struct {
	host   host
	sealer *sealer
	nodes  nodes
	descs  descs
	files  locator
	root   *node

	// renames is write-locked while a file is renamed, and read-locked while names are followed.
	renames sync.RWMutex
}

// locator finds files by their IDs: byKernel or byName.
type locator interface {
	// identify returns the ID of a file and what is known of it. The file is a name in the
	// directory dirfd, which ends with a NUL, or dirfd itself if the name is empty.
	identify(dirfd int, name *byte, st *unix.Statx_t) (fileID, error)
	// admit returns the current ID for an ID that was in a handle.
	admit(id fileID) (fileID, error)
	// open returns the O_PATH descriptor of a file, or nil if the file is gone.
	open(n *node) (*desc, error)
	// parent returns the parent of a directory other than the root.
	parent(d dir) (dir, error)
	// used reports whether a new file has the ID of an earlier file.
	used(id *fileID) bool

	// seen, left and gone note that a file has a name, that it lost that name, that it is gone.
	seen(id *fileID, dir *node, name string)
	left(id *fileID, dir *node, name string)
	gone(id *fileID)
	// keep writes the notes to the log. It is called before a client gets a handle.
	keep()
	close() error
}

// node returns the node of a handle. It rejects handles that this file system did not make.
func (t *tree) node(h *nfs3.FH) (*node, error) {
	id, mac, err := t.sealer.parse(h)
	if err != nil {
		return nil, err
	}
	// Calls lock the node of the current ID, so a former ID must be admitted first.
	if id.kernel == t.root.id.kernel {
		n := t.nodes.get(&id)
		if n != nil && subtle.ConstantTimeCompare(mac, n.mac[:]) == 1 {
			return n, nil
		}
	}
	if !t.sealer.check(&id, mac) {
		return nil, nfs3.ErrBadHandle
	}
	if id, err = t.files.admit(id); err != nil {
		return nil, t.host.status("open", err)
	}
	return t.nodeOf(&id), nil
}

// nodeOf returns the node of a file.
func (t *tree) nodeOf(id *fileID) *node {
	if n := t.nodes.get(id); n != nil {
		return n
	}
	return t.nodes.add(id, t.sealer.keys[0].of(t.sealer, id))
}

// handle returns the handle of a node.
func (t *tree) handle(n *node) nfs3.FH { return t.sealer.sealed(&n.id, &n.mac) }

// hold finds the file of a handle. The caller releases it.
func (t *tree) hold(h *nfs3.FH) (file, error) {
	n, err := t.node(h)
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

// holdNode is hold of a file whose node is known.
func (t *tree) holdNode(n *node) (file, error) {
	d, err := t.descs.path(n), error(nil)
	if d == nil {
		d, err = t.files.open(n)
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

// forget drops the node and the descriptors of a file that is gone.
func (t *tree) forget(n *node) {
	if n == t.root {
		return
	}
	t.nodes.forget(n)
	t.files.gone(&n.id)
	t.descs.drop(n)
}
