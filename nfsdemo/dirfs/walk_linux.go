package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxDepth bounds the directories opened on the way to a file. With handles, clients can make trees
// deeper than any path can reach, and deep enough to overflow the stack of the walk.
const maxDepth = 16 << 10

// walk opens files by their names. It starts at the nearest directory that is open.
type walk struct {
	s     *byName
	tried map[key]bool // stops at circles of names
}

// open returns the descriptor of a file, or nil if no name leads to it.
func (w *walk) open(k key) (*desc, error) {
	n := w.s.nodeOf(k)
	if d := w.s.t.descs.path(n); d != nil {
		return d, nil
	}
	switch {
	case w.tried[k]:
		return nil, nil
	case len(w.tried) == maxDepth:
		return nil, nfs3.ErrServerFault
	}
	if w.tried == nil {
		w.tried = make(map[key]bool)
	}
	w.tried[k] = true
	for _, in := range w.s.names.of(k) {
		d, err := w.openBy(in, n)
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// openBy opens a file by one of its names. If that name is gone, it searches the same directory.
func (w *walk) openBy(in hint, n *node) (*desc, error) {
	dir, err := w.open(in.parent)
	if dir == nil {
		return nil, err
	}
	defer dir.release()
	d, err := w.openName(n, in.parent, dir, in.name)
	if d != nil || err != nil {
		return d, err
	}
	w.s.names.remove(n.id.key(), in)
	return w.search(n, in.parent, dir)
}

// openName opens a name in a directory. It returns nil if the name is another file's.
func (w *walk) openName(n *node, parent key, dir *desc, name string) (*desc, error) {
	t := w.s.t
	fd, err := t.descs.withRoom(func() (int, error) { return openPath(dir.fd, name) })
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENAMETOOLONG:
		return nil, nil // not by this name
	default:
		return nil, err
	}
	var st unix.Statx_t
	err = statFD(fd, &st)
	if err != nil || !t.host.own(&st) || t.host.keyOf(&st) != n.id.key() || n.gone.Load() {
		unix.Close(fd)
		return nil, err
	}
	w.s.enter(n.id.key(), hint{parent, name})
	return t.descs.paths.add(n, fd, false), nil
}

// search looks for a file in a directory where it once had another name.
func (w *walk) search(n *node, parent key, dir *desc) (*desc, error) {
	fd, err := w.s.t.descs.withRoom(func() (int, error) {
		return reopen(dir.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	})
	if err != nil {
		return nil, scarce(err)
	}
	defer unix.Close(fd)
	var found *desc
	l := newLister(fd)
	for ino := n.id.key().ino; found == nil && err == nil && l.next(); {
		if l.ino() == ino {
			found, err = w.openName(n, parent, dir, l.name())
		}
	}
	return found, err
}
