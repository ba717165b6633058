package dirfs

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// findIn looks for a node in a directory in which it was seen under another name.
func (fs *FS) findIn(n *node, dir file) (*desc, error) {
	fd, err := fs.withRoom(func() (int, error) { return reopen(dir.path.fd, unix.O_RDONLY|unix.O_DIRECTORY) })
	if err != nil {
		return nil, scarce(err)
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
	err    error // valid when done is closed
}

// scarce returns err if it is for want of something that others use up. It says nothing of the file.
func scarce(err error) error {
	switch err {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return err
	}
	return nil
}

// find enters the names under which a file is found into the table. With an error it may be one that was
// not looked at.
func (s *scanner) find(fs *FS, k key) error {
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
		return q.err
	}
	s.run.Lock()
	defer s.run.Unlock()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	defer close(q.done)
	q.err = fs.scan(q)
	return q.err
}

// scan goes through the tree, breadth first: what was moved is seldom deep.
func (fs *FS) scan(q *search) error {
	dirs, seen := []string{"."}, 0
	l := newLister(-1)
	for len(dirs) > 0 && len(q.wanted) > 0 {
		dir, found := dirs[0], false
		dirs = dirs[1:]
		var missed error
		err := fs.each(l, dir, func() {
			seen++
			if l.kind() == unix.DT_DIR || l.kind() == unix.DT_UNKNOWN {
				dirs = append(dirs, dir+"/"+l.name())
			}
			if ks := q.wanted[l.ino()]; ks != nil {
				ok, err := fs.enterPath(dir+"/"+l.name(), ks)
				if ok {
					delete(q.wanted, l.ino())
					found = true
				}
				missed = cmp.Or(missed, err)
			}
		})
		if err = cmp.Or(err, missed); err != nil {
			return err
		}
		if found {
			fs.enterAll(l, dir)
		}
		if seen > maxScan {
			fs.logger.Warn("the directory is too large to look for files that were moved", "path", fs.config.Path)
			return nil
		}
	}
	return nil
}

// each calls f for each entry of a directory below the root, unless it is gone or on another
// file system.
func (fs *FS) each(l *lister, dir string, f func()) error {
	list, err := fs.withRoom(func() (int, error) {
		fd, err := openPath(fs.rootPath.fd, dir)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		return reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	})
	if err != nil {
		return scarce(err)
	}
	defer unix.Close(list)
	*l = lister{fd: list, buf: l.buf}
	for l.next() {
		if !l.dots() {
			f()
		}
	}
	return scarce(l.err)
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
	_ = fs.each(l, dir, func() { // what is missed costs another scan
		if statName(l.fd, l.cname(), &st) == nil && fs.own(&st) {
			fs.intern(keyOf(&st), n, l.name())
		}
	})
}

// enterPath enters all steps of a path to one of the files in ks into the table. It reports whether
// the path leads to one, which with an error is not known.
func (fs *FS) enterPath(path string, ks []key) (bool, error) {
	k, err := fs.keyAt(path)
	if err != nil || !slices.Contains(ks, k) {
		return false, scarce(err)
	}
	n, start := fs.root, len("./")
	for end := start; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		k, err := fs.keyAt(path[:end])
		if err == nil {
			n = fs.intern(k, n, path[start:end])
		} else if err = scarce(err); err != nil {
			return false, err
		}
		start = end + 1
	}
	return true, nil
}

// keyAt returns the key of what a path below the root stands for.
func (fs *FS) keyAt(path string) (key, error) {
	fd, err := fs.withRoom(func() (int, error) { return openPath(fs.rootPath.fd, path) })
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
