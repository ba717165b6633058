package krb5

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// The header of a context's tokens (RFC 4121 section 4.2.6).
const (
	headerLen = 16

	tokMIC  = 0x0404
	tokWrap = 0x0504
)

// Flags of the header (RFC 4121 section 4.2.2).
const (
	flagSentByAcceptor = 1 << 0
	flagSealed         = 1 << 1
	flagAcceptorSubkey = 1 << 2
)

// securityContext is a complete context. It ignores the sequence numbers of the peer's tokens,
// because RPCSEC_GSS has its own (RFC 2203 section 5.2.2).
type securityContext struct {
	ours, theirs direction
	sequence     atomic.Uint64 // of the next token
	peer         string
	expires      time.Time
}

// direction is the protection of tokens in one direction.
type direction struct {
	flags byte // header flags, without flagSealed
	sign  *enctype.Checksum
	seal  *enctype.Cipher
}

// baseKey is the key from which the keys for tokens are derived (RFC 4121 section 2).
type baseKey struct {
	key            key
	acceptorSubkey bool // whether the acceptor made it
}

// newContext returns one end of a context. sequence is the number of this end's first token.
func newContext(acceptor bool, base baseKey, sequence uint32, peer string, expires time.Time) (
	*securityContext, error) {
	fromInitiator, err := base.direction(usageInitiatorSign, usageInitiatorSeal, 0)
	if err != nil {
		return nil, err
	}
	fromAcceptor, err := base.direction(usageAcceptorSign, usageAcceptorSeal, flagSentByAcceptor)
	if err != nil {
		return nil, err
	}
	c := &securityContext{ours: fromInitiator, theirs: fromAcceptor, peer: peer, expires: expires}
	if acceptor {
		c.ours, c.theirs = fromAcceptor, fromInitiator
	}
	c.sequence.Store(uint64(sequence))
	return c, nil
}

func (b *baseKey) direction(sign, seal uint32, flags byte) (d direction, err error) {
	if b.acceptorSubkey {
		flags |= flagAcceptorSubkey
	}
	d.flags = flags
	if d.sign, err = enctype.NewChecksum(b.key.etype, b.key.value, sign); err != nil {
		return d, err
	}
	d.seal, err = enctype.NewCipher(b.key.etype, b.key.value, seal)
	return d, err
}

func (c *securityContext) Peer() string       { return c.peer }
func (c *securityContext) Expires() time.Time { return c.expires }

// putSequence writes our next sequence number into a token's header.
func (c *securityContext) putSequence(header []byte) {
	binary.BigEndian.PutUint64(header[8:], c.sequence.Add(1)-1)
}

// Why a token is refused. A *gss.StatusError wraps them.
var (
	errShortToken   = errors.New("the token is too short")
	errTokenKind    = errors.New("the token is of another kind")
	errDirection    = errors.New("the token has come back to its sender")
	errSubkey       = errors.New("the token is not protected by the key that the context has")
	errFiller       = errors.New("the token's header is malformed")
	errNotSealed    = errors.New("the token is not encrypted")
	errSealed       = errors.New("a checksum's token says that it is encrypted")
	errInnerHeader  = errors.New("the token's header was changed")
	errWrongMIC     = errors.New("the checksum is wrong")
	errExtraCount   = errors.New("the token has more filler than it is long")
	errNotDecrypted = errors.New("the token cannot be decrypted")
)

func defective(err error) error { return &gss.StatusError{Major: gss.DefectiveToken, Err: err} }
func badMIC(err error) error    { return &gss.StatusError{Major: gss.BadMIC, Err: err} }

// check checks what the headers of both kinds of token have in common. It ignores unknown flags
// (RFC 4121 section 4.2.2).
func (d *direction) check(token []byte, kind uint16, min int) error {
	switch {
	case len(token) < min:
		return defective(errShortToken)
	case binary.BigEndian.Uint16(token) != kind:
		return defective(errTokenKind)
	case (token[2]^d.flags)&flagSentByAcceptor != 0:
		return badMIC(errDirection)
	case (token[2]^d.flags)&flagAcceptorSubkey != 0:
		return badMIC(errSubkey)
	case token[3] != 0xff:
		return defective(errFiller)
	}
	return nil
}
