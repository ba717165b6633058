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

// A handle is the file system's ID, the ID of the file, and a MAC over both, so that handles cannot
// be guessed: whoever has one got it from the server. The ID of a file is a key, or the kind of a
// handle of the kernel's and its bytes. The length of the handle tells which: handles of the
// kernel's are a multiple of four bytes long.
const (
	handleID  = 8
	macLen    = 16
	keyHandle = handleID + keyLen + macLen
	minHandle = handleID + 1 + macLen
	maxHandle = minHandle + maxKernelHandle
)

// sealer makes the handles of a file system, and tells which are its own.
type sealer struct {
	id   uint64 // of the file system
	keys []*macs
}

// macs makes MACs with a key.
type macs struct{ pool sync.Pool } // of *seal

type seal struct {
	hash.Hash
	buf [maxHandle - macLen + sha256.Size]byte
}

// newSealer returns what makes handles with the first of some keys, and knows those of all.
func newSealer(id uint64, keys [][]byte) *sealer {
	s := &sealer{id: id}
	for _, k := range keys {
		m := &macs{}
		m.pool.New = func() any { return &seal{Hash: hmac.New(sha256.New, k)} }
		s.keys = append(s.keys, m)
	}
	return s
}

// appendBody appends to b what the MAC of the handle of a file is over.
func (s *sealer) appendBody(b []byte, id *fileID) []byte {
	b = binary.BigEndian.AppendUint64(b, s.id)
	if id.kernel {
		b = append(b, id.kind)
	}
	return append(b, id.bytes()...)
}

func (m *macs) of(s *sealer, id *fileID) (mac [macLen]byte) {
	h := m.pool.Get().(*seal)
	body := s.appendBody(h.buf[:0], id)
	h.Reset()
	h.Write(body)
	copy(mac[:], h.Sum(body)[len(body):])
	m.pool.Put(h)
	return mac
}

// handle returns the handle of a file.
func (s *sealer) handle(id *fileID) nfs3.FH {
	mac := s.keys[0].of(s, id)
	return s.sealed(id, &mac)
}

func (s *sealer) sealed(id *fileID, mac *[macLen]byte) nfs3.FH {
	var b [maxHandle]byte
	return nfs3.MakeFH(append(s.appendBody(b[:0], id), mac[:]...))
}

// parse returns of which file a handle is if this file system has made it, and its MAC, which is
// yet to be checked.
func (s *sealer) parse(h *nfs3.FH) (id fileID, mac []byte, err error) {
	b := h.Bytes()
	if len(b) < minHandle || len(b) > maxHandle || binary.BigEndian.Uint64(b) != s.id {
		return id, nil, nfs3.ErrBadHandle
	}
	body := b[handleID : len(b)-macLen]
	if len(b) != keyHandle {
		id.kernel, id.kind, body = true, body[0], body[1:]
	}
	id.n = byte(copy(id.b[:], body))
	return id, b[len(b)-macLen:], nil
}

// check reports whether the MAC is that of a file's handle.
func (s *sealer) check(id *fileID, mac []byte) bool {
	for _, m := range s.keys {
		if want := m.of(s, id); subtle.ConstantTimeCompare(mac, want[:]) == 1 {
			return true
		}
	}
	return false
}
