package enctype

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"hash"
	"sync"
)

// ErrIntegrity says that a decrypted message has the wrong checksum: it was changed, or the key is
// wrong.
var ErrIntegrity = errors.New("the checksum is wrong")

// errTooShort says that a ciphertext is shorter than that of an empty message.
var errTooShort = errors.New("the ciphertext is too short")

// batch is how many bytes are encrypted and hashed at a time, so that they stay in the processor's
// cache.
const batch = 8 << 10

// Cipher encrypts and decrypts with the keys for one usage. It is safe for concurrent use.
type Cipher struct {
	p     *profile
	block cipher.Block
	ki    []byte
	pool  sync.Pool // of *state
}

// state is the memory for one message.
type state struct {
	enc, dec         cipher.BlockMode
	encChain         [aes.BlockSize]byte // what enc will chain to its next block
	decChain         [aes.BlockSize]byte // likewise dec
	mac              hash.Hash
	sum              []byte // room for a checksum
	last             [aes.BlockSize]byte
	beforeLast, prev [aes.BlockSize]byte
}

var zeros [aes.BlockSize]byte

// NewCipher derives the keys for a usage from a protocol key.
func NewCipher(id ID, key []byte, usage uint32) (*Cipher, error) {
	e, p, err := id.check(key)
	if err != nil {
		return nil, err
	}
	ke, ki, err := derive(e, key, usage)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(ke)
	if err != nil {
		return nil, err
	}
	return &Cipher{p: p, block: block, ki: ki}, nil
}

// Overhead returns how many bytes longer a ciphertext is than its plain text.
func (c *Cipher) Overhead() int { return ConfounderLen + c.p.macLen }

func (c *Cipher) get() *state {
	if s, ok := c.pool.Get().(*state); ok {
		s.mac.Reset()
		return s
	}
	return &state{
		enc: cipher.NewCBCEncrypter(c.block, zeros[:]),
		dec: cipher.NewCBCDecrypter(c.block, zeros[:]),
		mac: hmac.New(c.p.hash, c.ki),
		sum: make([]byte, 0, 64),
	}
}

// Seal encrypts in place. b consists of room for the confounder, the plain text, and room for the
// checksum, so it is Overhead longer than the plain text.
func (c *Cipher) Seal(b []byte) {
	_, _ = rand.Read(b[:ConfounderLen]) // it never fails
	c.seal(b)
}

// seal is Seal with the confounder at the beginning of b.
func (c *Cipher) seal(b []byte) {
	s := c.get()
	defer c.pool.Put(s)
	body, mac := b[:len(b)-c.p.macLen], b[len(b)-c.p.macLen:]
	if c.p.overCipher {
		s.mac.Write(zeros[:]) // the initial vector
	}
	whole := wholeBlocks(len(body))
	for at := 0; at < whole; at += batch {
		part := body[at:min(at+batch, whole)]
		if !c.p.overCipher {
			s.mac.Write(part)
		}
		s.encrypt(part, at == 0)
		// The last two blocks of a ciphertext must be swapped before they are hashed.
		if c.p.overCipher {
			s.mac.Write(part[:min(len(part), max(0, whole-aes.BlockSize-at))])
		}
	}
	tail := body[max(0, whole-aes.BlockSize):]
	if !c.p.overCipher {
		s.mac.Write(body[whole:])
	}
	s.encryptTail(tail, whole == 0)
	if c.p.overCipher {
		s.mac.Write(tail)
	}
	s.sum = s.mac.Sum(s.sum[:0])
	copy(mac, s.sum)
}

// Open decrypts in place and returns the plain text, which is a part of b.
func (c *Cipher) Open(b []byte) ([]byte, error) {
	if len(b) < c.Overhead() {
		return nil, errTooShort
	}
	s := c.get()
	defer c.pool.Put(s)
	body, mac := b[:len(b)-c.p.macLen], b[len(b)-c.p.macLen:]
	if c.p.overCipher {
		s.mac.Write(zeros[:])
	}
	// Decrypt all but the last two blocks, which are swapped.
	whole := max(0, wholeBlocks(len(body))-aes.BlockSize)
	for at := 0; at < whole; at += batch {
		part := body[at:min(at+batch, whole)]
		if c.p.overCipher {
			s.mac.Write(part)
		}
		s.decrypt(part, at == 0)
		if !c.p.overCipher {
			s.mac.Write(part)
		}
	}
	tail := body[whole:]
	if c.p.overCipher {
		s.mac.Write(tail)
	}
	c.decryptTail(s, tail, whole == 0)
	if !c.p.overCipher {
		s.mac.Write(tail)
	}
	s.sum = s.mac.Sum(s.sum[:0])
	if !hmac.Equal(mac, s.sum[:c.p.macLen]) {
		return nil, ErrIntegrity
	}
	return body[ConfounderLen:], nil
}

// wholeBlocks returns the length of all blocks of n bytes except the last, which may be partial.
func wholeBlocks(n int) int { return (n - 1) / aes.BlockSize * aes.BlockSize }

// encrypt does CBC with a zero initial vector. A BlockMode continues with the chain of its last
// block, so encrypt removes that from the first block.
func (s *state) encrypt(b []byte, first bool) {
	if len(b) == 0 {
		return
	}
	if first {
		xor(b, s.encChain[:])
	}
	s.enc.CryptBlocks(b, b)
	copy(s.encChain[:], b[len(b)-aes.BlockSize:])
}

// decrypt undoes encrypt.
func (s *state) decrypt(b []byte, first bool) {
	if len(b) == 0 {
		return
	}
	before := s.decChain
	copy(s.decChain[:], b[len(b)-aes.BlockSize:])
	s.dec.CryptBlocks(b, b)
	if first {
		xor(b, before[:])
	}
}

// encryptTail encrypts the last block, padded with zeros. It swaps the result with the block
// before, already encrypted, which is cut to the length of the last (RFC 3962 section 5: CBC-CS3).
// tail is both blocks; if only is set, there is just one.
func (s *state) encryptTail(tail []byte, only bool) {
	if only {
		s.encrypt(tail, true) // the confounder fills the block
		return
	}
	s.last = zeros
	n := copy(s.last[:], tail[aes.BlockSize:])
	s.encrypt(s.last[:], false)
	copy(tail[aes.BlockSize:], tail[:n])
	copy(tail, s.last[:])
}

// decryptTail undoes encryptTail.
func (c *Cipher) decryptTail(s *state, tail []byte, first bool) {
	if len(tail) == aes.BlockSize {
		s.decrypt(tail, true)
		return
	}
	s.prev = zeros
	if !first {
		s.prev = s.decChain
	}
	n := len(tail) - aes.BlockSize
	c.block.Decrypt(s.last[:], tail[:aes.BlockSize])
	copy(s.beforeLast[:], tail[aes.BlockSize:])
	copy(s.beforeLast[n:], s.last[n:]) // the padding was zeros
	xor(s.last[:], s.beforeLast[:])
	c.block.Decrypt(tail[:aes.BlockSize], s.beforeLast[:])
	xor(tail, s.prev[:])
	copy(tail[aes.BlockSize:], s.last[:n])
}

// xor changes the first block of b by mask.
func xor(b, mask []byte) {
	for i, m := range mask {
		b[i] ^= m
	}
}
