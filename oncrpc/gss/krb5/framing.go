package krb5

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// MaxToken is the maximum length in bytes of the tokens that create a context. Tickets from Active
// Directory may have 48 KB.
const MaxToken = 64 << 10

// Identifiers of the tokens that create a context (RFC 4121 section 4.1).
const (
	tokAPReq = 0x0100
	tokAPRep = 0x0200
	tokError = 0x0300
)

// Object identifiers of mechanisms, with their tag and length.
var (
	// 1.2.840.113554.1.2.2
	oidKrb5 = []byte{0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02}
	// 1.3.6.1.5.5.2
	oidSPNEGO = []byte{0x06, 6, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02}
)

// frame returns the token that contains a Kerberos message (RFC 2743 section 3.1).
func frame(id uint16, msg []byte) []byte {
	n := len(oidKrb5) + 2 + len(msg)
	b := make([]byte, 0, n+6)
	b = append(b, 0x60)
	switch {
	case n < 0x80:
		b = append(b, byte(n))
	case n < 0x100:
		b = append(b, 0x81, byte(n))
	case n < 0x10000:
		b = append(b, 0x82, byte(n>>8), byte(n))
	default:
		b = append(b, 0x83, byte(n>>16), byte(n>>8), byte(n))
	}
	b = append(b, oidKrb5...)
	b = append(b, byte(id>>8), byte(id))
	return append(b, msg...)
}

// unframe undoes frame, and checks the token's length.
func unframe(token []byte) (id uint16, msg []byte, err error) {
	if len(token) > MaxToken {
		return 0, nil, defective(errors.New("the token is too long"))
	}
	rest, ok := bytes.CutPrefix(token, []byte{0x60})
	if !ok {
		return 0, nil, defective(errors.New("this is not the first token of a context"))
	}
	rest, ok = cutLength(rest)
	if !ok {
		return 0, nil, defective(errors.New("the token's length is wrong"))
	}
	msg, ok = bytes.CutPrefix(rest, oidKrb5)
	switch {
	case ok && len(msg) >= 2:
		return uint16(msg[0])<<8 | uint16(msg[1]), msg[2:], nil
	case ok:
		return 0, nil, defective(errShortToken)
	case bytes.HasPrefix(rest, oidSPNEGO):
		err = errors.New("the peer negotiates with SPNEGO: configure it to use Kerberos 5 directly")
	default:
		err = errors.New("the peer's mechanism is not Kerberos 5")
	}
	return 0, nil, &gss.StatusError{Major: gss.BadMech, Err: err}
}

// cutLength decodes a DER length and reports whether exactly as many bytes follow.
func cutLength(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	n, b := int(b[0]), b[1:]
	if n >= 0x80 {
		more := n & 0x7f
		if more == 0 || more > 4 || more > len(b) {
			return nil, false
		}
		n = 0
		for _, c := range b[:more] {
			n = n<<8 | int(c)
		}
		b = b[more:]
	}
	return b, n == len(b)
}
