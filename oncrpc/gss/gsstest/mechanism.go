package gsstest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// Mechanism is a mechanism of the GSS-API for tests. It needs only a secret that both ends share,
// and whoever has the secret can claim any name. Set its fields before use.
type Mechanism struct {
	Secret []byte
	// Rounds is how many tokens the initiator sends, 1 or more; 0 means 1.
	Rounds int
	// OneWay makes the acceptor prove nothing. It sends no token if Rounds is 1.
	OneWay bool
	// TokenLen is the minimum length in bytes of each token.
	TokenLen int
	// Lifetime is how long a context is valid; 0 means for ever.
	Lifetime time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Lengths in bytes. Neither a checksum nor an encrypted message is a multiple of four.
const (
	nonceLen = 16
	sumLen   = sha256.Size
	micLen   = 1 + 20
)

var (
	errToken = errors.New("token is malformed")
	errSum   = errors.New("checksum is wrong")
	errPeer  = errors.New("token was made with another secret")
)

// Initiator returns the client's end for a principal.
func (m *Mechanism) Initiator(principal string) gss.Initiator { return &initiator{m, principal} }

// Acceptor returns the server's end.
func (m *Mechanism) Acceptor() gss.Acceptor { return acceptor{m} }

func (m *Mechanism) sum(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, m.Secret)
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

// token returns a token: its round, the text with its length, filler, and the checksum of all.
func (m *Mechanism) token(round int, text ...[]byte) []byte {
	all := bytes.Join(text, nil)
	b := append([]byte{byte(round)}, binary.BigEndian.AppendUint16(nil, uint16(len(all)))...)
	b = append(b, all...)
	if n := m.TokenLen - sumLen - len(b); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	return append(b, m.sum([]byte("token"), b)...)
}

// text returns the text of a token.
func (m *Mechanism) text(round int, token []byte) ([]byte, error) {
	n := len(token) - sumLen
	if n < 3 || int(binary.BigEndian.Uint16(token[1:])) > n-3 {
		return nil, &gss.StatusError{Major: gss.DefectiveToken, Minor: 1, Err: errToken}
	}
	if !hmac.Equal(token[n:], m.sum([]byte("token"), token[:n])) {
		return nil, &gss.StatusError{Major: gss.DefectiveCredential, Minor: 2, Err: errPeer}
	}
	if int(token[0]) != round {
		return nil, &gss.StatusError{Major: gss.DuplicateToken, Minor: 3, Err: errToken}
	}
	return token[3:][:binary.BigEndian.Uint16(token[1:])], nil
}

func (m *Mechanism) rounds() int { return max(1, m.Rounds) }

// context returns a context with a peer.
func (m *Mechanism) context(peer string, initiator bool, nonce []byte) *Context {
	c := &Context{peer: peer}
	if m.Lifetime != 0 {
		now := time.Now
		if m.Now != nil {
			now = m.Now
		}
		c.expires = now().Add(m.Lifetime)
	}
	for i, name := range []string{"initiator", "acceptor"} {
		key := m.sum([]byte(name), nonce)
		d := direction{mark: byte(i), key: key}
		d.block, _ = aes.NewCipher(m.sum([]byte("cipher"), key)[:16])
		if (i == 0) == initiator {
			c.send = d
		} else {
			c.receive = d
		}
	}
	return c
}

type initiator struct {
	m         *Mechanism
	principal string
}

func (i *initiator) Initiate(ctx context.Context, service string) (gss.Negotiation, error) {
	n := &initiating{m: i.m, service: service, principal: i.principal, nonce: make([]byte, nonceLen)}
	_, _ = rand.Read(n.nonce)
	return n, ctx.Err()
}

// initiating is a context that a client creates.
type initiating struct {
	m                  *Mechanism
	service, principal string
	nonce              []byte
	sent               int
}

func (n *initiating) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	var made gss.Context
	if n.sent > 0 {
		if _, err := n.m.text(100+n.sent, token); err != nil {
			return nil, nil, err
		}
	}
	if last := n.m.rounds(); n.sent == last || n.m.OneWay && n.sent == last-1 {
		made = n.m.context(n.service, true, n.nonce)
	}
	if n.sent == n.m.rounds() {
		return nil, made, nil
	}
	n.sent++
	return n.m.token(n.sent, n.nonce, []byte(n.principal)), made, nil
}

type acceptor struct{ m *Mechanism }

func (a acceptor) Accept() gss.Negotiation { return &accepting{m: a.m} }

// accepting is a context that a server creates.
type accepting struct {
	m     *Mechanism
	taken int
	first []byte
}

func (n *accepting) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	n.taken++
	text, err := n.m.text(n.taken, token)
	if err != nil {
		return nil, nil, err
	}
	if n.taken == 1 {
		n.first = bytes.Clone(text)
	}
	if len(text) < nonceLen || !bytes.Equal(text, n.first) {
		return nil, nil, &gss.StatusError{Major: gss.DefectiveToken, Minor: 4, Err: errToken}
	}
	if n.taken < n.m.rounds() {
		return n.m.token(100+n.taken, nil), nil, nil
	}
	made := n.m.context(string(text[nonceLen:]), false, text[:nonceLen])
	if n.m.OneWay {
		return nil, made, nil
	}
	return n.m.token(100+n.taken, nil), made, nil
}

// Context is a context of Mechanism. A checksum is an HMAC. An encrypted message is a counter, the
// text encrypted in counter mode, and a checksum.
type Context struct {
	peer          string
	expires       time.Time
	send, receive direction
}

// direction is what protects the messages of one end.
type direction struct {
	mark  byte
	key   []byte
	block cipher.Block
}

func (d *direction) appendMIC(dst []byte, what string, msg [][]byte) []byte {
	h := hmac.New(sha256.New, d.key)
	h.Write([]byte(what))
	for _, p := range msg {
		h.Write(p)
	}
	var sum [sumLen]byte
	return append(append(dst, d.mark), h.Sum(sum[:0])[:micLen-1]...)
}

// AppendMIC implements gss.Context.
func (c *Context) AppendMIC(dst []byte, msg [][]byte) ([]byte, error) {
	return c.send.appendMIC(dst, "mic", msg), nil
}

// VerifyMIC implements gss.Context.
func (c *Context) VerifyMIC(mic []byte, msg [][]byte) error {
	if !hmac.Equal(mic, c.receive.appendMIC(nil, "mic", msg)) {
		return &gss.StatusError{Major: gss.BadMIC, Err: errSum}
	}
	return nil
}

// AppendWrap implements gss.Context.
func (c *Context) AppendWrap(dst []byte, msg [][]byte) ([]byte, error) {
	from := len(dst)
	var counter [aes.BlockSize]byte
	_, _ = rand.Read(counter[:])
	dst = append(dst, counter[:]...)
	stream := cipher.NewCTR(c.send.block, counter[:])
	for _, p := range msg {
		at := len(dst)
		dst = append(dst, p...)
		stream.XORKeyStream(dst[at:], dst[at:])
	}
	return c.send.appendMIC(dst, "wrap", [][]byte{dst[from:]}), nil
}

// Unwrap implements gss.Context.
func (c *Context) Unwrap(token []byte) ([]byte, error) {
	n := len(token) - micLen
	if n < aes.BlockSize {
		return nil, &gss.StatusError{Major: gss.DefectiveToken, Err: errToken}
	}
	if !hmac.Equal(token[n:], c.receive.appendMIC(nil, "wrap", [][]byte{token[:n]})) {
		return nil, &gss.StatusError{Major: gss.BadMIC, Err: errSum}
	}
	text := token[aes.BlockSize:n]
	cipher.NewCTR(c.receive.block, token[:aes.BlockSize]).XORKeyStream(text, text)
	return text, nil
}

// MaxMIC implements gss.Context.
func (c *Context) MaxMIC() int { return micLen }

// WrapLen implements gss.Context.
func (c *Context) WrapLen(n int) int { return aes.BlockSize + n + micLen }

// Peer implements gss.Context.
func (c *Context) Peer() string { return c.peer }

// Expires implements gss.Context.
func (c *Context) Expires() time.Time { return c.expires }
