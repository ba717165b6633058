// Package enctype implements the Kerberos encryption types with AES: those of RFC 3962 (with SHA-1)
// and RFC 8009 (with SHA-2). It encrypts in place and does not allocate once its pools are filled.
// gokrb5 derives the keys.
//
//	c, err := enctype.NewCipher(enctype.AES256SHA1, key, usage)
//	c.Seal(b) // room for the confounder, the plain text, room for the checksum
//	plain, err := c.Open(b)
package enctype

import (
	"crypto/aes"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/common"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
)

// ID is the number of an encryption type (RFC 3962 section 7, RFC 8009 section 8).
type ID int32

// The encryption types.
const (
	AES128SHA1   ID = 17 // aes128-cts-hmac-sha1-96
	AES256SHA1   ID = 18 // aes256-cts-hmac-sha1-96
	AES128SHA256 ID = 19 // aes128-cts-hmac-sha256-128
	AES256SHA384 ID = 20 // aes256-cts-hmac-sha384-192
)

// All are the encryption types, the strongest first.
var All = []ID{AES256SHA384, AES128SHA256, AES256SHA1, AES128SHA1}

// ConfounderLen is the number of random bytes at the beginning of a ciphertext.
const ConfounderLen = aes.BlockSize

type profile struct {
	name       string
	checksumID int32 // of the required checksum
	keyLen     int
	macLen     int
	hash       func() hash.Hash
	overCipher bool // the checksum is over the ciphertext (RFC 8009 section 5)
}

var profiles = map[ID]*profile{
	AES128SHA1:   {"aes128-cts-hmac-sha1-96", 15, 16, 12, sha1.New, false},
	AES256SHA1:   {"aes256-cts-hmac-sha1-96", 16, 32, 12, sha1.New, false},
	AES128SHA256: {"aes128-cts-hmac-sha256-128", 19, 16, 16, sha256.New, true},
	AES256SHA384: {"aes256-cts-hmac-sha384-192", 20, 32, 24, sha512.New384, true},
}

// Supported reports whether this package implements the encryption type.
func (id ID) Supported() bool { return profiles[id] != nil }

// String returns the name that MIT's programs use.
func (id ID) String() string {
	if p := profiles[id]; p != nil {
		return p.name
	}
	if name, ok := others[id]; ok {
		return name
	}
	return fmt.Sprintf("encryption type %d", int32(id))
}

// others are encryption types that peers may use and this package lacks.
var others = map[ID]string{
	1: "des-cbc-crc", 3: "des-cbc-md5", 16: "des3-cbc-sha1", 23: "arcfour-hmac",
	25: "camellia128-cts-cmac", 26: "camellia256-cts-cmac",
}

// KeyLen returns the length in bytes of a key.
func (id ID) KeyLen() int { return profiles[id].keyLen }

// ChecksumID returns the number of the checksum type that belongs to the encryption type (RFC 4120
// section 8.2).
func (id ID) ChecksumID() int32 { return profiles[id].checksumID }

// NewKey makes a random key.
func (id ID) NewKey() []byte {
	key := make([]byte, id.KeyLen())
	_, _ = rand.Read(key) // it never fails
	return key
}

// check checks a key and returns what derives keys from it, and the profile of its encryption type.
func (id ID) check(key []byte) (etype.EType, *profile, error) {
	p := profiles[id]
	if p == nil {
		return nil, nil, fmt.Errorf("%v is not supported", id)
	}
	if len(key) != p.keyLen {
		return nil, nil, fmt.Errorf("a key of %v has %d bytes, want %d", id, len(key), p.keyLen)
	}
	e, err := crypto.GetEtype(int32(id))
	return e, p, err
}

// derive derives the keys for encryption and integrity (RFC 3961 section 5.3, RFC 8009 section 5).
func derive(e etype.EType, key []byte, usage uint32) (ke, ki []byte, err error) {
	if ke, err = e.DeriveKey(key, common.GetUsageKe(usage)); err != nil {
		return nil, nil, err
	}
	ki, err = e.DeriveKey(key, common.GetUsageKi(usage))
	return ke, ki, err
}
