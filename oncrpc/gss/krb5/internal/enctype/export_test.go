package enctype

import (
	"crypto/aes"
	"testing"
)

// withKey returns a cipher that uses the key itself, as in the vectors of RFC 3962.
func withKey(t *testing.T, key []byte) *Cipher {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Cipher{p: profiles[AES128SHA1], block: block, ki: key}
}
