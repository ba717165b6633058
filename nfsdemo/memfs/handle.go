package memfs

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// A handle has the file system's ID, the node's ID, and a MAC over both, so it cannot be guessed.
const (
	handleIDs = 16
	macLen    = 16
	handleLen = handleIDs + macLen
)

// makeHandle returns the handle of node id. IDs are not reused, so it needs no generation.
func (fs *FS) makeHandle(id uint64) nfs3.FH {
	b := make([]byte, 0, handleIDs+sha256.Size)
	b = binary.BigEndian.AppendUint64(b, fs.id)
	b = binary.BigEndian.AppendUint64(b, id)
	m := hmac.New(sha256.New, fs.key)
	m.Write(b)
	return nfs3.MakeFH(m.Sum(b)[:handleLen])
}

// find returns the node of a handle. If this file system made the handle and the node is gone, the
// error is nfs3.ErrStale; for other handles it is nfs3.ErrBadHandle. fs.tree is held.
func (fs *FS) find(h *nfs3.FH) (*node, error) {
	b := h.Bytes()
	if len(b) != handleLen || binary.BigEndian.Uint64(b) != fs.id {
		return nil, nfs3.ErrBadHandle
	}
	id := binary.BigEndian.Uint64(b[8:])
	if n := fs.nodes[id]; n != nil {
		if subtle.ConstantTimeCompare(b, n.handle.Bytes()) == 1 {
			return n, nil
		}
		return nil, nfs3.ErrBadHandle
	}
	made := fs.makeHandle(id)
	if subtle.ConstantTimeCompare(b, made.Bytes()) == 1 {
		return nil, nfs3.ErrStale
	}
	return nil, nfs3.ErrBadHandle
}

// findDir is find for a directory.
func (fs *FS) findDir(h *nfs3.FH) (*node, error) {
	n, err := fs.find(h)
	if err == nil && n.kind != nfs3.TypeDir {
		return n, nfs3.ErrNotDir
	}
	return n, err
}

// lock returns the node of a handle, with n.mu held. It is for operations that need nothing else of
// the tree.
func (fs *FS) lock(h *nfs3.FH) (*node, error) {
	fs.tree.RLock()
	n, err := fs.find(h)
	fs.tree.RUnlock()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	if n.nlink == 0 { // gone meanwhile
		n.mu.Unlock()
		return nil, nfs3.ErrStale
	}
	return n, nil
}

// rlock is lock for reading.
func (fs *FS) rlock(h *nfs3.FH) (*node, error) {
	fs.tree.RLock()
	n, err := fs.find(h)
	fs.tree.RUnlock()
	if err != nil {
		return nil, err
	}
	n.mu.RLock()
	if n.nlink == 0 {
		n.mu.RUnlock()
		return nil, nfs3.ErrStale
	}
	return n, nil
}

// lockNodes locks nodes, each once, and returns a function that unlocks them. Some may be nil.
// fs.tree is held for writing, so nobody else holds one of the locks and waits for another.
func lockNodes(nodes ...*node) (unlock func()) {
	var locked []*node
	for _, n := range nodes {
		if n != nil && !slices.Contains(locked, n) {
			n.mu.Lock()
			locked = append(locked, n)
		}
	}
	return func() {
		for _, n := range locked {
			n.mu.Unlock()
		}
	}
}
