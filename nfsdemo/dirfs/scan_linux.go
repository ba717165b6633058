package dirfs

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxScan bounds the entries that one scan reads.
const maxScan = 8 << 20

// scanPatience is how long a call waits for a scan. After that the client must try again, so that a
// large tree does not occupy all workers of the server.
const scanPatience = time.Second

// restFactor times the length of a scan is the pause after it. So scans take at most a quarter of
// the time, however many handles are stale.
const restFactor = 3

// scanner searches the whole tree for files that the host has moved, or whose names are unknown.
// Only one scan runs at a time. Files requested during a scan are searched for together in the next
// one.
type scanner struct {
	stop chan struct{} // closed by close
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	next    *search
	working bool
}

// search is one scan and the files that it looks for.
type search struct {
	s      *byName
	wanted map[uint64][]key // by inode number; guarded by scanner.mu until the scan begins
	done   chan struct{}
	err    error // valid when done is closed
}

// scarce returns err if it is a lack of resources, which says nothing about the file.
func scarce(err error) error {
	switch err {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return err
	}
	return nil
}

// find searches for a file and adds its names. If it returns an error, part of the tree was not
// read and the file may exist.
func (c *scanner) find(s *byName, k key) error {
	c.mu.Lock()
	q := c.next
	if q == nil {
		q = &search{s: s, wanted: make(map[uint64][]key), done: make(chan struct{})}
		c.next = q
	}
	if !slices.Contains(q.wanted[k.ino], k) {
		q.wanted[k.ino] = append(q.wanted[k.ino], k)
	}
	if !c.working {
		c.working = true
		c.done.Go(c.work)
	}
	c.mu.Unlock()
	patience := time.NewTimer(scanPatience)
	defer patience.Stop()
	select {
	case <-q.done:
		return q.err
	case <-patience.C:
		return nfs3.ErrJukebox
	}
}

// work scans while files are requested.
func (c *scanner) work() {
	for {
		c.mu.Lock()
		q := c.next
		c.next = nil
		c.working = q != nil
		c.mu.Unlock()
		if q == nil {
			return
		}
		began := time.Now()
		q.err = q.run(c.stop)
		if q.err == nil {
			q.giveUp()
		}
		close(q.done)
		select {
		case <-c.stop:
		case <-time.After(restFactor * time.Since(began)):
		}
	}
}

func (c *scanner) close() {
	close(c.stop)
	c.done.Wait()
}

// giveUp records that the files that were not found are gone.
func (q *search) giveUp() {
	for _, ks := range q.wanted {
		for _, k := range ks {
			id := k.id()
			q.s.gone(&id)
		}
	}
	q.s.keep()
}

// run reads the tree, breadth first: moved files are rarely deep.
func (q *search) run(stop <-chan struct{}) error {
	dirs, seen := []string{"."}, 0
	l := newLister(-1)
	for len(dirs) > 0 && len(q.wanted) > 0 {
		select {
		case <-stop:
			return nfs3.ErrJukebox
		default:
		}
		dir, found := dirs[0], false
		dirs = dirs[1:]
		var missed error
		err := q.each(l, dir, func() {
			seen++
			if l.kind() == unix.DT_DIR || l.kind() == unix.DT_UNKNOWN {
				dirs = append(dirs, dir+"/"+l.name())
			}
			if q.wanted[l.ino()] != nil {
				ok, err := q.enterPath(dir + "/" + l.name())
				found = found || ok
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
			q.s.t.host.logger.Warn("the directory is too large to look for files that were moved",
				"path", q.s.t.host.path)
			return nil
		}
	}
	return nil
}

// each calls f for each entry of a directory below the root, unless it is gone or on another
// file system.
func (q *search) each(l *lister, dir string, f func()) error {
	list, err := q.s.t.descs.withRoom(func() (int, error) {
		fd, err := openPath(q.s.t.descs.root.fd, dir)
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

// enterAll adds the names of all files in a directory: others in it are likely to be wanted soon.
func (q *search) enterAll(l *lister, dir string) {
	k, err := q.keyAt(dir)
	if err != nil {
		return
	}
	var st unix.Statx_t
	_ = q.each(l, dir, func() { // a missed file costs another scan
		if statName(l.fd, l.cname(), &st) == nil && q.s.t.host.own(&st) {
			q.s.enter(q.s.t.host.keyOf(&st), hint{k, l.name()})
		}
	})
}

// enterPath adds the names of all steps of a path to a wanted file. It reports whether the path
// leads to a wanted file. On an error, this is unknown.
func (q *search) enterPath(path string) (bool, error) {
	k, err := q.keyAt(path)
	ks := q.wanted[k.ino]
	i := slices.Index(ks, k)
	if err != nil || i < 0 {
		return false, scarce(err)
	}
	dir, start := q.s.root, len("./")
	for end := start; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		k, err := q.keyAt(path[:end])
		if err == nil {
			q.s.enter(k, hint{dir, path[start:end]})
			dir = k
		} else if err = scarce(err); err != nil {
			return false, err
		}
		start = end + 1
	}
	if ks = slices.Delete(ks, i, i+1); len(ks) > 0 {
		q.wanted[k.ino] = ks
	} else {
		delete(q.wanted, k.ino)
	}
	return true, nil
}

// keyAt returns the key of the file at a path below the root.
func (q *search) keyAt(path string) (key, error) {
	fd, err := q.s.t.descs.withRoom(func() (int, error) { return openPath(q.s.t.descs.root.fd, path) })
	if err != nil {
		return key{}, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := statFD(fd, &st); err != nil {
		return key{}, err
	}
	if !q.s.t.host.own(&st) {
		return key{}, unix.EXDEV
	}
	return q.s.t.host.keyOf(&st), nil
}
