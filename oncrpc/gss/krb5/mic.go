package krb5

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

var _ gss.Context = (*securityContext)(nil)

// MaxMIC returns the length of a MIC token.
func (c *securityContext) MaxMIC() int { return headerLen + c.ours.sign.Len() }

// AppendMIC appends a MIC token (RFC 4121 section 4.2.6.1).
func (c *securityContext) AppendMIC(dst []byte, msg [][]byte) ([]byte, error) {
	at := len(dst)
	dst = append(dst, tokMIC>>8, tokMIC&0xff, c.ours.flags, 0xff, 0xff, 0xff, 0xff, 0xff,
		0, 0, 0, 0, 0, 0, 0, 0)
	c.putSequence(dst[at:])
	return c.ours.sign.Append(dst, msg, dst[at:at+headerLen]), nil
}

// VerifyMIC returns a *gss.StatusError unless mic is the peer's MIC token for msg.
func (c *securityContext) VerifyMIC(mic []byte, msg [][]byte) error {
	d := &c.theirs
	if err := d.check(mic, tokMIC, headerLen+d.sign.Len()); err != nil {
		return err
	}
	switch {
	case len(mic) != headerLen+d.sign.Len():
		return defective(errFiller)
	case mic[2]&flagSealed != 0:
		return defective(errSealed)
	case binary.BigEndian.Uint32(mic[4:]) != 0xffffffff:
		return defective(errFiller)
	}
	if !d.sign.Equal(mic[headerLen:], msg, mic[:headerLen]) {
		return badMIC(errWrongMIC)
	}
	return nil
}
