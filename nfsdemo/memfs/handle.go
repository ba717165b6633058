package memfs

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// A handle is the file system's ID, the node's, and a MAC over both, so that
// handles cannot be guessed: whoever has one got it from the server.
const (
	handleIDs = 16
	macLen    = 16
	handleLen = handleIDs + macLen
)

// makeHandle returns the handle of node id. Ids are not used again, so that they
// need no generation beside them.
func (fs *FS) makeHandle(id uint64) nfs3.FH {
	b := make([]byte, 0, handleIDs+sha256.Size)
	b = binary.BigEndian.AppendUint64(b, fs.id)
	b = binary.BigEndian.AppendUint64(b, id)
	m := hmac.New(sha256.New, fs.key)
	m.Write(b)
	return nfs3.MakeFH(m.Sum(b)[:handleLen])
}

// find returns the node of a handle; fs.tree is held. A handle of this file system's
// whose node is gone is stale, any other is bad.
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

// findDir is find of a directory.
func (fs *FS) findDir(h *nfs3.FH) (*node, error) {
	n, err := fs.find(h)
	if err == nil && n.kind != nfs3.TypeDir {
		return n, nfs3.ErrNotDir
	}
	return n, err
}

// lock returns the node of a handle with n.mu held, for who needs nothing else of the tree.
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

// lockNodes locks nodes, each once, and returns what unlocks them; some may be nil. fs.tree is held
// for writing, so that nobody else who has one lock waits for another.
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
