package dirfs

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// maxMounted bounds the places that are logged.
const maxMounted = 64

// mounted is what has been found mounted below the root. It is not entered, which clients see as a
// lack of rights, so that the administrator is told why, once for each.
type mounted struct {
	mu   sync.Mutex // guards seen
	seen map[mountID]bool
}

// mountID tells other file systems apart.
type mountID struct {
	mount        uint64
	major, minor uint32
}

// first reports whether a file on another file system is the first that was seen of it.
func (m *mounted) first(st *unix.Statx_t) bool {
	id := mountID{st.Mnt_id, st.Dev_major, st.Dev_minor}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[id] || len(m.seen) == maxMounted {
		return false
	}
	if m.seen == nil {
		m.seen = make(map[mountID]bool)
	}
	m.seen[id] = true
	return true
}

// foreign logs that a name in a directory is another file system.
func (h *host) foreign(dirfd int, name string, st *unix.Statx_t) {
	if !h.mounted.first(st) {
		return
	}
	path, err := os.Readlink(procPath(dirfd))
	if err != nil {
		path = h.path
	}
	h.logger.Warn("another file system is mounted below the directory and is not entered: "+
		"export it by itself",
		"path", filepath.Join(path, name))
}
