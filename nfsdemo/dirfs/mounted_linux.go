package dirfs

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// maxMounted bounds how many mounts are logged.
const maxMounted = 64

// mounted remembers which file systems were seen below the root. They are not entered, which looks
// like missing permission to clients. So each is logged once for the administrator.
type mounted struct {
	mu   sync.Mutex // guards seen
	seen map[mountID]bool
}

// mountID identifies another file system.
type mountID struct {
	mount        uint64
	major, minor uint32
}

// first reports whether this is the first file seen on its file system.
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

// foreign logs that a name in a directory is on another file system.
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
