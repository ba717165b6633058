package enctype

import (
	"crypto/hmac"
	"hash"
	"sync"

	"github.com/jcmturner/gokrb5/v8/crypto/common"
)

// Checksum makes checksums with the key for one usage. It is safe for concurrent use.
type Checksum struct {
	p    *profile
	kc   []byte
	pool sync.Pool // of *sum
}

type sum struct {
	mac hash.Hash
	out []byte // room for a checksum
}

// NewChecksum derives the key for a usage from a protocol key.
func NewChecksum(id ID, key []byte, usage uint32) (*Checksum, error) {
	e, p, err := id.check(key)
	if err != nil {
		return nil, err
	}
	kc, err := e.DeriveKey(key, common.GetUsageKc(usage))
	if err != nil {
		return nil, err
	}
	return &Checksum{p: p, kc: kc}, nil
}

// Len returns the length in bytes of a checksum.
func (c *Checksum) Len() int { return c.p.macLen }

func (c *Checksum) sum(msg [][]byte, last []byte) *sum {
	s, ok := c.pool.Get().(*sum)
	if ok {
		s.mac.Reset()
	} else {
		s = &sum{mac: hmac.New(c.p.hash, c.kc), out: make([]byte, 0, 64)}
	}
	for _, part := range msg {
		s.mac.Write(part)
	}
	s.mac.Write(last)
	s.out = s.mac.Sum(s.out[:0])
	return s
}

// Append appends the checksum of msg followed by last to dst.
func (c *Checksum) Append(dst []byte, msg [][]byte, last []byte) []byte {
	s := c.sum(msg, last)
	dst = append(dst, s.out[:c.p.macLen]...)
	c.pool.Put(s)
	return dst
}

// Equal reports whether sum is the checksum of msg followed by last.
func (c *Checksum) Equal(sum []byte, msg [][]byte, last []byte) bool {
	s := c.sum(msg, last)
	equal := hmac.Equal(sum, s.out[:c.p.macLen])
	c.pool.Put(s)
	return equal
}
