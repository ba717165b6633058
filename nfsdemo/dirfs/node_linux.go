package dirfs

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// node is a file that is in use by an operation, or open.
type node struct {
	id   fileID
	mac  [macLen]byte
	gone atomic.Bool // its last name was removed

	// mu makes an operation and the attributes before and after it a single step. It is not held
	// while waiting for a peer.
	mu sync.RWMutex
}

// before reports whether n is locked before other.
func (n *node) before(other *node) bool {
	return bytes.Compare(n.id.b[:], other.id.b[:]) < 0
}

// nodes has the nodes that somebody refers to. Other files take no memory here.
type nodes struct {
	mu   sync.RWMutex // guards byID
	byID map[fileID]weak.Pointer[node]
}

// get returns the node of a file, or nil if nobody refers to it.
func (s *nodes) get(id *fileID) *node {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byID[*id].Value()
}

// add returns the node of a file, a new one if there is none.
func (s *nodes) add(id *fileID, mac [macLen]byte) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.byID[*id].Value()
	if n == nil {
		n = &node{id: *id, mac: mac}
		s.byID[*id] = weak.Make(n)
		runtime.AddCleanup(n, s.drop, *id)
	}
	return n
}

// drop forgets a node that nobody refers to.
func (s *nodes) drop(id fileID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].Value() == nil {
		delete(s.byID, id)
	}
}

// forget has the node of a file be another from now on: this one is gone.
func (s *nodes) forget(n *node) {
	n.gone.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[n.id].Value() == n {
		delete(s.byID, n.id)
	}
}
