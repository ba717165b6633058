package dirfs

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

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

// search is one scan, and what it looks for.
type search struct {
	t      *tree
	wanted map[uint64][]key // by inode number; guarded by scanner.mu until the scan begins
	done   chan struct{}
	err    error // valid when done is closed
}

// scarce returns err if it is for want of something that others use up. It says nothing of the
// file.
func scarce(err error) error {
	switch err {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return err
	}
	return nil
}

// find enters the names under which a file is found into the table. With an error it may be one
// that was not looked at.
func (s *scanner) find(t *tree, k key) error {
	s.mu.Lock()
	q, first := s.next, s.next == nil
	if first {
		q = &search{t: t, wanted: make(map[uint64][]key), done: make(chan struct{})}
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
	q.err = q.run()
	return q.err
}

// run goes through the tree, breadth first: what was moved is seldom deep.
func (q *search) run() error {
	dirs, seen := []string{"."}, 0
	l := newLister(-1)
	for len(dirs) > 0 && len(q.wanted) > 0 {
		dir, found := dirs[0], false
		dirs = dirs[1:]
		var missed error
		err := q.each(l, dir, func() {
			seen++
			if l.kind() == unix.DT_DIR || l.kind() == unix.DT_UNKNOWN {
				dirs = append(dirs, dir+"/"+l.name())
			}
			if ks := q.wanted[l.ino()]; ks != nil {
				ok, err := q.enterPath(dir+"/"+l.name(), ks)
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
			q.enterAll(l, dir)
		}
		if seen > maxScan {
			q.t.host.logger.Warn("the directory is too large to look for files that were moved",
				"path", q.t.host.path)
			return nil
		}
	}
	return nil
}

// each calls f for each entry of a directory below the root, unless it is gone or on another
// file system.
func (q *search) each(l *lister, dir string, f func()) error {
	list, err := q.t.descs.withRoom(func() (int, error) {
		fd, err := openPath(q.t.descs.root.fd, dir)
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

// enterAll enters all files of a directory into the table: where one was looked for, others will
// be.
func (q *search) enterAll(l *lister, dir string) {
	k, err := q.keyAt(dir)
	if err != nil {
		return
	}
	n, _ := q.t.table.get(k)
	if n == nil {
		return
	}
	var st unix.Statx_t
	_ = q.each(l, dir, func() { // what is missed costs another scan
		if statName(l.fd, l.cname(), &st) == nil && q.t.host.own(&st) {
			q.t.table.intern(keyOf(&st), hint{n.key, l.name()})
		}
	})
}

// enterPath enters all steps of a path to one of the files in ks into the table. It reports whether
// the path leads to one, which with an error is not known.
func (q *search) enterPath(path string, ks []key) (bool, error) {
	k, err := q.keyAt(path)
	if err != nil || !slices.Contains(ks, k) {
		return false, scarce(err)
	}
	n, start := q.t.root, len("./")
	for end := start; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		k, err := q.keyAt(path[:end])
		if err == nil {
			n = q.t.table.intern(k, hint{n.key, path[start:end]})
		} else if err = scarce(err); err != nil {
			return false, err
		}
		start = end + 1
	}
	return true, nil
}

// keyAt returns the key of what a path below the root stands for.
func (q *search) keyAt(path string) (key, error) {
	fd, err := q.t.descs.withRoom(func() (int, error) { return openPath(q.t.descs.root.fd, path) })
	if err != nil {
		return key{}, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := statFD(fd, &st); err != nil {
		return key{}, err
	}
	if !q.t.host.own(&st) {
		return key{}, unix.EXDEV
	}
	return keyOf(&st), nil
}
