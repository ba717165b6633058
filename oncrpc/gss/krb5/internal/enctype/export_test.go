package enctype

import (
	"crypto/aes"
	"testing"
)

// withKey is a cipher that encrypts with the key itself, as the vectors of RFC 3962 do.
func withKey(t *testing.T, key []byte) *Cipher {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Cipher{p: profiles[AES128SHA1], block: block, ki: key}
}
