package dirfs

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// byName finds files by their keys. It tries the names under which a file was seen, and then scans
// the tree.
type byName struct {
	t       *tree
	root    key
	names   *names
	absent  absent
	scanner scanner
	refused sync.Once // a handle of the kernel's
}

func newByName(t *tree, n *names) *byName {
	return &byName{t: t, root: t.host.keyOf(&t.host.root), names: n,
		scanner: scanner{stop: make(chan struct{})}}
}

func (s *byName) identify(_ int, _ *byte, st *unix.Statx_t) (fileID, error) {
	return s.t.host.keyOf(st).id(), nil
}

func (s *byName) admit(id fileID) (fileID, error) {
	switch {
	case id.kernel:
		s.refused.Do(func() {
			s.t.host.logger.Warn("handles of the kernel's cannot be used any more: clients that have "+
				"them must mount again, or the server needs CAP_DAC_READ_SEARCH, which it had",
				"path", s.t.host.path)
		})
		return id, nfs3.ErrStale
	case s.absent.has(id.key()):
		return id, nfs3.ErrStale
	}
	return id, nil
}

func (s *byName) open(n *node) (*desc, error) {
	d, err := s.walkTo(n)
	if err == nil && d == nil {
		if err = s.scanner.find(s, n.id.key()); err == nil {
			// The scan has added the names that it found.
			d, err = s.walkTo(n)
		}
	}
	return d, err
}

// find returns a descriptor of the file of an ID.
func (s *byName) find(id *fileID) (*desc, error) {
	if id.key() == s.root {
		return s.t.descs.path(s.t.root), nil
	}
	if s.absent.has(id.key()) {
		return nil, nfs3.ErrStale
	}
	d, err := s.open(s.t.nodeOf(id))
	if d == nil && err == nil {
		s.gone(id)
		err = nfs3.ErrStale
	}
	return d, err
}

// walkTo opens a node by its names. It returns nil if none of them leads to it.
func (s *byName) walkTo(n *node) (*desc, error) {
	s.t.renames.RLock()
	defer s.t.renames.RUnlock()
	w := walk{s: s}
	return w.open(n.id.key())
}

// parent returns the directory that has the name of d. It does not ask the host for "..", which
// might lead out of the root after a rename.
func (s *byName) parent(d dir) (dir, error) {
	for tries := 0; ; tries++ {
		for _, in := range s.names.of(d.n.id.key()) {
			f, err := s.t.holdNode(s.nodeOf(in.parent))
			if err != nil {
				continue
			}
			p := dir{f}
			ch, err := p.child(in.name)
			if err == nil && ch.id == d.n.id {
				return p, nil
			}
			p.release()
		}
		if tries == 1 {
			return dir{}, nfs3.ErrStale
		}
		// The host has moved it.
		if err := s.scanner.find(s, d.n.id.key()); err != nil {
			return dir{}, s.t.host.status("lookup", err)
		}
	}
}

// nodeOf returns the node of a key.
func (s *byName) nodeOf(k key) *node {
	if k == s.root {
		return s.t.root
	}
	id := k.id()
	return s.t.nodeOf(&id)
}

func (s *byName) used(id *fileID) bool { return s.names.has(id.key()) || s.absent.has(id.key()) }

func (s *byName) seen(id *fileID, dir *node, name string) {
	s.enter(id.key(), hint{dir.id.key(), name})
}

// enter adds a name of a file.
func (s *byName) enter(k key, in hint) {
	if k != s.root {
		s.absent.drop(k)
		s.names.add(k, in)
	}
}

func (s *byName) left(id *fileID, dir *node, name string) {
	s.names.remove(id.key(), hint{dir.id.key(), name})
}

func (s *byName) gone(id *fileID) {
	s.absent.add(id.key())
	s.names.forget(id.key())
}

func (s *byName) keep() { s.names.flush() }

func (s *byName) close() error {
	s.scanner.close()
	return s.names.close()
}
