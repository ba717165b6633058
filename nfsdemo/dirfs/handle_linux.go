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

// A handle has the ID of the file system, the ID of the file, and a MAC over both, so it cannot be
// guessed. The ID of the file is a key, or the type and the bytes of a kernel handle. The length
// tells which: kernel handles have a multiple of four bytes.
const (
	handleID  = 8
	macLen    = 16
	keyHandle = handleID + keyLen + macLen
	minHandle = handleID + 1 + macLen
	maxHandle = minHandle + maxKernelHandle
)

// sealer makes and checks the handles of a file system.
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

// newSealer returns a sealer that makes handles with the first key, and accepts those of all keys.
func newSealer(id uint64, keys [][]byte) *sealer {
	s := &sealer{id: id}
	for _, k := range keys {
		m := &macs{}
		m.pool.New = func() any { return &seal{Hash: hmac.New(sha256.New, k)} }
		s.keys = append(s.keys, m)
	}
	return s
}

// appendBody appends the input of the MAC of a handle to b.
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

// parse returns the file ID in a handle and its MAC, which check must check. It fails if the handle
// is from another file system.
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

// check reports whether a MAC is valid for a file.
func (s *sealer) check(id *fileID, mac []byte) bool {
	for _, m := range s.keys {
		if want := m.of(s, id); subtle.ConstantTimeCompare(mac, want[:]) == 1 {
			return true
		}
	}
	return false
}
