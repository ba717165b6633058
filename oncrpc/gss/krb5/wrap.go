package krb5

import (
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// WrapLen returns the length of a Wrap token that contains n bytes.
func (c *securityContext) WrapLen(n int) int {
	return headerLen + n + headerLen + c.ours.seal.Overhead()
}

// AppendWrap appends a Wrap token with confidentiality, without filler and rotation (RFC 4121
// section 4.2.4).
func (c *securityContext) AppendWrap(dst []byte, msg [][]byte) ([]byte, error) {
	n := 0
	for _, part := range msg {
		n += len(part)
	}
	at := len(dst)
	dst = slices.Grow(dst, c.WrapLen(n))[:at+c.WrapLen(n)]
	token := dst[at:]
	header, sealed := token[:headerLen], token[headerLen:]
	copy(header, []byte{tokWrap >> 8, tokWrap & 0xff, c.ours.flags | flagSealed, 0xff, 0, 0, 0, 0})
	c.putSequence(header)
	end := enctype.ConfounderLen
	for _, part := range msg {
		end += copy(sealed[end:], part)
	}
	copy(sealed[end:], header)
	c.ours.seal.Seal(sealed)
	return dst, nil
}

// Unwrap decrypts a Wrap token in place. It returns a *gss.StatusError if the token is not the
// peer's or not encrypted.
func (c *securityContext) Unwrap(token []byte) ([]byte, error) {
	d := &c.theirs
	if err := d.check(token, tokWrap, headerLen); err != nil {
		return nil, err
	}
	header, sealed := token[:headerLen], token[headerLen:]
	if header[2]&flagSealed == 0 {
		return nil, badMIC(errNotSealed)
	}
	if len(sealed) < d.seal.Overhead()+headerLen {
		return nil, defective(errShortToken)
	}
	// The sender may have rotated the bytes after the header to the right, by any number.
	rotateLeft(sealed, int(binary.BigEndian.Uint16(header[6:]))%len(sealed))
	plain, err := d.seal.Open(sealed)
	if err != nil {
		return nil, badMIC(errNotDecrypted)
	}
	end := len(plain) - headerLen
	inner := plain[end:]
	// The encrypted copy of the header has a rotation of zero.
	if string(inner[:6]) != string(header[:6]) || inner[6] != 0 || inner[7] != 0 ||
		string(inner[8:]) != string(header[8:]) {
		return nil, badMIC(errInnerHeader)
	}
	filler := int(binary.BigEndian.Uint16(header[4:]))
	if filler > end {
		return nil, defective(errExtraCount)
	}
	return plain[:end-filler], nil
}

// rotateLeft moves the first n bytes of b to its end.
func rotateLeft(b []byte, n int) {
	if n == 0 {
		return
	}
	slices.Reverse(b[:n])
	slices.Reverse(b[n:])
	slices.Reverse(b)
}
