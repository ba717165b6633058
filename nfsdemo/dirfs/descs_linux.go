package dirfs

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// descs are the open descriptors of a file system.
type descs struct {
	root  *desc     // in no cache, because it stays open
	paths descCache // O_PATH
	data  descCache // of regular files and directories

	// lost counts failures to write data to stable storage.
	lost *atomic.Uint64
}

func newDescs(root int, lim limits) descs {
	lost := new(atomic.Uint64)
	return descs{
		root:  &desc{cache: &descCache{lost: lost}, fd: root, refs: 1},
		paths: descCache{max: lim.paths, lost: lost, byNode: make(map[*node]*desc)},
		data:  descCache{max: lim.data, lost: lost, byNode: make(map[*node]*desc)},
		lost:  lost,
	}
}

// path returns the O_PATH descriptor of a node, if there is one.
func (s *descs) path(n *node) *desc {
	if n != s.root.node {
		return s.paths.get(n)
	}
	s.root.cache.mu.Lock()
	defer s.root.cache.mu.Unlock()
	s.root.refs++
	return s.root
}

// open opens the file of an O_PATH descriptor for reading, or also for writing.
func (s *descs) open(path *desc, write bool) (*desc, error) {
	if d := s.data.get(path.node); d != nil {
		if d.writable || !write {
			return d, nil
		}
		d.release()
	}
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR
	}
	fd, err := s.withRoom(func() (int, error) { return reopen(path.fd, flags) })
	if err == unix.EACCES && write {
		fd, err = s.withRoom(func() (int, error) { return reopenOwn(path.fd) })
	}
	if err != nil {
		return nil, err
	}
	return s.data.add(path.node, fd, write), nil
}

// reopenOwn opens a file of the process's user for writing, whatever its mode is, by changing the
// mode for a moment. An owner may go on writing a file after making it read-only, and the
// descriptor from its creation may be gone.
func reopenOwn(path int) (int, error) {
	var st unix.Statx_t
	if err := statFD(path, &st); err != nil {
		return -1, err
	}
	if int(st.Uid) != unix.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, unix.EACCES
	}
	mode := uint32(st.Mode) & nfs3.ModeMask
	if err := chmod(path, mode|0o600); err != nil {
		return -1, err
	}
	fd, err := reopen(path, unix.O_RDWR)
	if cerr := chmod(path, mode); err == nil && cerr != nil {
		unix.Close(fd)
		return -1, cerr
	}
	return fd, err
}

// withRoom calls open. If the process has no descriptor left, it empties the caches and tries
// again, and then empties those of other file systems.
func (s *descs) withRoom(open func() (int, error)) (int, error) {
	fd, err := open()
	if scarceFD(err) {
		_ = s.paths.purge()
		_ = s.data.purge()
		fd, err = open()
	}
	if scarceFD(err) {
		s.purgeOthers()
		fd, err = open()
	}
	return fd, err
}

func scarceFD(err error) bool { return err == unix.EMFILE || err == unix.ENFILE }

// drop closes the descriptors of a node.
func (s *descs) drop(n *node) {
	s.paths.drop(n)
	s.data.drop(n)
}

// close closes all. The error is that of a sync.
func (s *descs) close() error {
	s.unregister()
	err := s.data.purge()
	_ = s.paths.purge() // they have no data to sync
	unix.Close(s.root.fd)
	return err
}
