package dirfs

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// findIn looks for a node in a directory in which it was seen under another name.
func (fs *FS) findIn(n *node, dir file) (*desc, error) {
	fd, err := reopen(dir.path.fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, nil
	}
	defer unix.Close(fd)
	var found *desc
	l := newLister(fd)
	for found == nil && err == nil && l.next() {
		if l.ino() == n.ino {
			found, err = fs.openName(n, dir.n, dir.path.fd, l.name())
		}
	}
	return found, err
}

// maxScan bounds the entries that one scan looks at.
const maxScan = 8 << 20

// scanner looks for files in the whole tree: such that the host has moved, and such of which
// no name is remembered. There is one scan at a time; who comes meanwhile has his file looked for
// by the next, together with all others.
type scanner struct {
	run  sync.Mutex // held by the scan
	mu   sync.Mutex // guards next
	next *search
}

// search is what one scan looks for.
type search struct {
	wanted map[uint64][]key // by inode number; guarded by scanner.mu until the scan begins
	done   chan struct{}
}

// find enters the names under which a file is found into the table.
func (s *scanner) find(fs *FS, k key) {
	s.mu.Lock()
	q, first := s.next, s.next == nil
	if first {
		q = &search{wanted: make(map[uint64][]key), done: make(chan struct{})}
		s.next = q
	}
	q.wanted[k.ino] = append(q.wanted[k.ino], k)
	s.mu.Unlock()
	if !first {
		<-q.done
		return
	}
	s.run.Lock()
	defer s.run.Unlock()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	defer close(q.done)
	fs.scan(q)
}

// scan goes through the tree, breadth first: what was moved is seldom deep.
func (fs *FS) scan(q *search) {
	dirs, seen := []string{"."}, 0
	l := newLister(-1)
	for len(dirs) > 0 && len(q.wanted) > 0 {
		dir, found := dirs[0], false
		dirs = dirs[1:]
		fs.each(l, dir, func() {
			seen++
			if l.kind() == unix.DT_DIR || l.kind() == unix.DT_UNKNOWN {
				dirs = append(dirs, dir+"/"+l.name())
			}
			if ks := q.wanted[l.ino()]; ks != nil && fs.enterPath(dir+"/"+l.name(), ks) {
				delete(q.wanted, l.ino())
				found = true
			}
		})
		if found {
			fs.enterAll(l, dir)
		}
		if seen > maxScan {
			fs.logger.Warn("the directory is too large to look for files that were moved", "path", fs.config.Path)
			return
		}
	}
}

// each calls f for each entry of a directory below the root, unless it is gone or on another
// file system.
func (fs *FS) each(l *lister, dir string, f func()) {
	fd, err := openPath(fs.rootPath.fd, dir)
	if err != nil {
		return
	}
	list, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	unix.Close(fd)
	if err != nil {
		return
	}
	defer unix.Close(list)
	*l = lister{fd: list, buf: l.buf}
	for l.next() {
		if !l.dots() {
			f()
		}
	}
}

// enterAll enters all files of a directory into the table: where one was looked for, others will be.
func (fs *FS) enterAll(l *lister, dir string) {
	k, err := fs.keyAt(dir)
	if err != nil {
		return
	}
	n, _ := fs.table.get(k)
	if n == nil {
		return
	}
	var st unix.Statx_t
	fs.each(l, dir, func() {
		if statName(l.fd, l.cname(), &st) == nil && fs.own(&st) {
			fs.intern(keyOf(&st), n, l.name())
		}
	})
}

// enterPath enters all steps of a path to one of the files in ks into the table. It reports whether
// the path leads to one.
func (fs *FS) enterPath(path string, ks []key) bool {
	k, err := fs.keyAt(path)
	if err != nil || !slices.Contains(ks, k) {
		return false
	}
	n, start := fs.root, len("./")
	for end := start; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		if k, err := fs.keyAt(path[:end]); err == nil {
			n = fs.intern(k, n, path[start:end])
		}
		start = end + 1
	}
	return true
}

// keyAt returns the key of what a path below the root stands for.
func (fs *FS) keyAt(path string) (key, error) {
	fd, err := openPath(fs.rootPath.fd, path)
	if err != nil {
		return key{}, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := statFD(fd, &st); err != nil {
		return key{}, err
	}
	if !fs.own(&st) {
		return key{}, unix.EXDEV
	}
	return keyOf(&st), nil
}
