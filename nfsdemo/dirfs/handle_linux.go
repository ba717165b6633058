package dirfs

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// A handle is the file system's ID, the inode's number and generation, and a MAC over
// these, so that handles cannot be guessed: whoever has one got it from the server.
const (
	handleIDs = 3 * 8
	macLen    = 16
	handleLen = handleIDs + macLen
)

// sealer makes the MACs of a file system's handles.
type sealer struct {
	id   uint64    // of the file system
	pool sync.Pool // *seal
}

type seal struct {
	hash.Hash
	buf [handleIDs + sha256.Size]byte
}

func (s *sealer) init(id identity) {
	s.id = id.ID
	s.pool.New = func() any { return &seal{Hash: hmac.New(sha256.New, id.Key)} }
}

// mac returns the MAC of the handle of inode k.
func (s *sealer) mac(k key) (mac [macLen]byte) {
	m := s.pool.Get().(*seal)
	ids := putIDs(m.buf[:0], s.id, k)
	m.Reset()
	m.Write(ids)
	copy(mac[:], m.Sum(ids)[handleIDs:])
	s.pool.Put(m)
	return mac
}

func putIDs(b []byte, id uint64, k key) []byte {
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint64(b, k.ino)
	return binary.BigEndian.AppendUint64(b, k.gen)
}

// handle returns the handle of a node.
func (t *table) handle(n *node) nfs3.FH {
	var b [handleLen]byte
	copy(putIDs(b[:0], t.sealer.id, n.key)[:handleLen][handleIDs:], n.mac[:])
	return nfs3.MakeFH(b[:])
}

// find returns the node of a handle. One that this file system did not make is bad.
func (t *table) find(h *nfs3.FH) (*node, error) {
	b := h.Bytes()
	if len(b) != handleLen || binary.BigEndian.Uint64(b) != t.sealer.id {
		return nil, nfs3.ErrBadHandle
	}
	k := key{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	n, gone := t.get(k)
	if n != nil {
		if subtle.ConstantTimeCompare(b[handleIDs:], n.mac[:]) == 0 {
			return nil, nfs3.ErrBadHandle
		}
		return n, nil
	}
	mac := t.sealer.mac(k)
	switch {
	case subtle.ConstantTimeCompare(b[handleIDs:], mac[:]) == 0:
		return nil, nfs3.ErrBadHandle
	case gone:
		return nil, nfs3.ErrStale
	}
	// A file whose name was forgotten: it has to be looked for.
	return t.add(k), nil
}
