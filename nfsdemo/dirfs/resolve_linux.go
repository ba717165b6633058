package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// file is what an operation works on: a node, and a descriptor by which it cannot be mistaken.
type file struct {
	n    *node
	path *desc // O_PATH
}

func (f file) release() { f.path.release() }

// hold finds the file of a handle. The caller releases it.
func (fs *FS) hold(h *nfs3.FH) (file, error) {
	n, err := fs.find(h)
	if err != nil {
		return file{}, err
	}
	return fs.holdNode(n)
}

func (fs *FS) holdNode(n *node) (file, error) {
	if d := fs.path(n); d != nil {
		return file{n, d}, nil
	}
	d, err := fs.walk(n)
	if err == nil && d == nil {
		if err = fs.scanner.find(fs, n.key); err == nil {
			// The scan has entered what it found.
			d, err = fs.walk(n)
		}
	}
	switch {
	case err != nil:
		return file{}, fs.status("open", err)
	case d == nil:
		fs.forget(n)
		return file{}, nfs3.ErrStale
	}
	return file{n, d}, nil
}

// walk opens a node by its hints. It returns nil when none leads to it.
func (fs *FS) walk(n *node) (*desc, error) {
	fs.renames.RLock()
	defer fs.renames.RUnlock()
	w := walk{fs: fs}
	return w.open(n)
}

// path returns the descriptor of a node, if there is one.
func (fs *FS) path(n *node) *desc {
	if n != fs.root {
		return fs.paths.get(n)
	}
	fs.rootPath.cache.mu.Lock()
	defer fs.rootPath.cache.mu.Unlock()
	fs.rootPath.refs++
	return fs.rootPath
}

// maxDepth bounds the directories that are opened on the way to a file. By handles clients can make deeper trees than
// any path leads through, and one so deep that the way down does not fit the stack.
const maxDepth = 16 << 10

// walk opens nodes by their hints, from the nearest directory on that is open.
type walk struct {
	fs    *FS
	tried map[*node]bool // hints may form a circle
}

// open returns the descriptor of a node, or nil when no hint leads to it.
func (w *walk) open(n *node) (*desc, error) {
	if d := w.fs.path(n); d != nil {
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
	for _, in := range w.fs.table.names(n) {
		d, err := w.openIn(n, in)
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// openIn opens a node by one of its names, or finds it in the directory under another.
func (w *walk) openIn(n *node, in hint) (*desc, error) {
	p, _ := w.fs.table.get(in.parent)
	if p == nil {
		return nil, nil
	}
	dir, err := w.open(p)
	if dir == nil {
		return nil, err
	}
	defer dir.release()
	d, err := w.fs.openName(n, p, dir.fd, in.name)
	if d != nil || err != nil {
		return d, err
	}
	w.fs.table.leave(n, in)
	return w.fs.findIn(n, file{p, dir})
}

// openName opens a name in a directory, if it is the node's.
func (fs *FS) openName(n, parent *node, dirfd int, name string) (*desc, error) {
	fd, err := fs.withRoom(func() (int, error) { return openPath(dirfd, name) })
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENAMETOOLONG:
		return nil, nil // not by this name
	default:
		return nil, err
	}
	var st unix.Statx_t
	if err := statFD(fd, &st); err != nil || !fs.own(&st) || keyOf(&st) != n.key || n.gone.Load() {
		unix.Close(fd)
		return nil, err
	}
	fs.table.enter(n, hint{parent.key, name})
	return fs.paths.add(n, fd, false), nil
}

// own reports whether a file is on the file system of the root directory, and not on one
// that is mounted below.
func (fs *FS) own(st *unix.Statx_t) bool {
	return st.Dev_major == fs.rootStat.Dev_major && st.Dev_minor == fs.rootStat.Dev_minor &&
		(st.Mask&unix.STATX_MNT_ID == 0 || st.Mnt_id == fs.rootStat.Mnt_id)
}
