package krb5

import (
	"fmt"

	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// key is a key of a supported encryption type.
type key struct {
	etype enctype.ID
	value []byte
}

// newKey makes a random key.
func newKey(etype enctype.ID) key { return key{etype, etype.NewKey()} }

// keyOf checks a key that came from a peer or a file.
func keyOf(k types.EncryptionKey) (key, error) {
	id := enctype.ID(k.KeyType)
	switch {
	case !id.Supported():
		return key{}, fmt.Errorf("%v is not supported", id)
	case len(k.KeyValue) != id.KeyLen():
		return key{}, fmt.Errorf("a key of %v has %d bytes, want %d", id, len(k.KeyValue), id.KeyLen())
	}
	return key{id, k.KeyValue}, nil
}

// wire returns the key in the form of messages.
func (k key) wire() types.EncryptionKey {
	return types.EncryptionKey{KeyType: int32(k.etype), KeyValue: k.value}
}

// encrypt encrypts a message. kvno is the version of the key, or 0.
func (k key) encrypt(usage uint32, plain []byte, kvno int) (types.EncryptedData, error) {
	c, err := enctype.NewCipher(k.etype, k.value, usage)
	if err != nil {
		return types.EncryptedData{}, err
	}
	b := make([]byte, len(plain)+c.Overhead())
	copy(b[enctype.ConfounderLen:], plain)
	c.Seal(b)
	return types.EncryptedData{EType: int32(k.etype), KVNO: kvno, Cipher: b}, nil
}

// decrypt decrypts a message in place.
func (k key) decrypt(usage uint32, data types.EncryptedData) ([]byte, error) {
	if data.EType != int32(k.etype) {
		return nil, fmt.Errorf("encrypted with %v, want %v", enctype.ID(data.EType), k.etype)
	}
	c, err := enctype.NewCipher(k.etype, k.value, usage)
	if err != nil {
		return nil, err
	}
	return c.Open(data.Cipher)
}
