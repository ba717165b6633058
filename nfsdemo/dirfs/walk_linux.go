package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxDepth bounds the directories that are opened on the way to a file. By handles clients can
// make deeper trees than any path leads through, and one so deep that the way down does not fit
// the stack.
const maxDepth = 16 << 10

// walk opens nodes by their hints, from the nearest directory on that is open.
type walk struct {
	t     *tree
	tried map[*node]bool // hints may form a circle
}

// open returns the descriptor of a node, or nil when no hint leads to it.
func (w *walk) open(n *node) (*desc, error) {
	if d := w.t.descs.path(n); d != nil {
		return d, nil
	}
	switch {
	case w.tried[n]:
		return nil, nil
	case len(w.tried) == maxDepth:
		return nil, nfs3.ErrServerFault
	}
	if w.tried == nil {
		w.tried = make(map[*node]bool)
	}
	w.tried[n] = true
	for _, in := range w.t.table.names(n) {
		d, err := w.openBy(in, n)
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// openBy opens a node by one of its hints, or finds it in the directory under another name.
func (w *walk) openBy(in hint, n *node) (*desc, error) {
	p, _ := w.t.table.get(in.parent)
	if p == nil {
		return nil, nil
	}
	dir, err := w.open(p)
	if dir == nil {
		return nil, err
	}
	defer dir.release()
	d, err := w.openName(n, dir, in.name)
	if d != nil || err != nil {
		return d, err
	}
	w.t.table.leave(n, in)
	return w.search(n, dir)
}

// openName opens a name in a directory, if it is the node's.
func (w *walk) openName(n *node, dir *desc, name string) (*desc, error) {
	fd, err := w.t.descs.withRoom(func() (int, error) { return openPath(dir.fd, name) })
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENAMETOOLONG:
		return nil, nil // not by this name
	default:
		return nil, err
	}
	var st unix.Statx_t
	err = statFD(fd, &st)
	if err != nil || !w.t.host.own(&st) || keyOf(&st) != n.key || n.gone.Load() {
		unix.Close(fd)
		return nil, err
	}
	w.t.table.enter(n, hint{dir.node.key, name})
	return w.t.descs.paths.add(n, fd, false), nil
}

// search looks for a node in a directory in which it was seen under another name.
func (w *walk) search(n *node, dir *desc) (*desc, error) {
	fd, err := w.t.descs.withRoom(func() (int, error) {
		return reopen(dir.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	})
	if err != nil {
		return nil, scarce(err)
	}
	defer unix.Close(fd)
	var found *desc
	l := newLister(fd)
	for found == nil && err == nil && l.next() {
		if l.ino() == n.ino {
			found, err = w.openName(n, dir, l.name())
		}
	}
	return found, err
}
