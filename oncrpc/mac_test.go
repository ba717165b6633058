package oncrpc_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// This flavour has a shared key and resembles RPCSEC_GSS with integrity (RFC 2203 section 5.3). The
// credential has the caller's name, a session, and a sequence number for each transmission. The
// verifier of a call is a checksum of the header, that of a reply a checksum of the sequence
// number. Arguments and results have the sequence number before them and a checksum after them.

const macFlavor oncrpc.AuthFlavor = 390100

// macSlack is the verifier's body, the sequence number, two lengths, and the checksum.
const macSlack = sha256.Size + 4 + 4 + 4 + sha256.Size

var errMAC = errors.New("wrong checksum")

func mac(key string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// wrapMAC appends data with a sequence number and a checksum.
func wrapMAC(e *xdr.Encoder, key string, seq uint32, data *xdr.Message) {
	body := data.AppendTo(number(seq))
	e.Opaque(body, len(body))
	e.Opaque(mac(key, body), sha256.Size)
}

// openMAC checks such data and resets the decoder to its content.
func openMAC(d *xdr.Decoder, key string, seq uint32) error {
	body := d.Opaque(1 << 24)
	sum := d.Opaque(sha256.Size)
	if err := d.Finish(); err != nil {
		return err
	}
	if !hmac.Equal(sum, mac(key, body)) || !bytes.HasPrefix(body, number(seq)) {
		return errMAC
	}
	d.Reset(body[4:], nil)
	return nil
}

// macClient is the client's side.
type macClient struct {
	name, key string
	sessions  atomic.Uint32
	seq       atomic.Uint32
	readies   atomic.Uint32
	denials   atomic.Uint32
	fail      error // returned by Ready
}

func (m *macClient) Flavor() oncrpc.AuthFlavor { return macFlavor }
func (m *macClient) Slack() int                { return macSlack }
func (m *macClient) AllowsPlacement() bool     { return false }

func (m *macClient) Ready(context.Context, *oncrpc.Client) error {
	m.readies.Add(1)
	return m.fail
}

func (m *macClient) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	check := &macCheck{m, m.sessions.Load(), m.seq.Add(1)}
	var cred xdr.Encoder
	cred.String(m.name, 100)
	cred.Uint32(check.session)
	cred.Uint32(check.seq)
	e.Uint32(uint32(macFlavor))
	e.Opaque(cred.Message().Inline, oncrpc.MaxAuthBody)
	sum := mac(m.key, e.Message().Inline)
	e.Uint32(uint32(macFlavor))
	e.Opaque(sum, oncrpc.MaxAuthBody)
	wrapMAC(e, m.key, check.seq, args)
	return check, nil
}

// macCheck checks the reply to one transmission.
type macCheck struct {
	m            *macClient
	session, seq uint32
}

func (c *macCheck) Verify(verf *oncrpc.Auth) error {
	if verf.Flavor != macFlavor || !hmac.Equal(verf.Body, mac(c.m.key, number(c.seq))) {
		return errMAC
	}
	return nil
}

func (c *macCheck) Open(results *xdr.Decoder) error { return openMAC(results, c.m.key, c.seq) }

// RetryDenied begins a new session, unless another call already has.
func (c *macCheck) RetryDenied(err *oncrpc.AuthError) bool {
	c.m.denials.Add(1)
	c.m.sessions.CompareAndSwap(c.session, c.session+1)
	return err.Stat == oncrpc.GSSCredProblem
}

// macServer is the server's side.
type macServer struct {
	keys     map[string]string // key by caller
	replyKey string            // if set, signs replies
	wrapErr  error             // returned by Wrap
	accepted chan struct{}     // if set, Accept sends an element and waits for one

	mu      sync.Mutex // guards the fields below
	session uint32     // the least that is valid
	seen    []uint32   // sequence numbers
}

func (m *macServer) Flavor() oncrpc.AuthFlavor { return macFlavor }

// macGreeting is the flavour's own answer to procedure 0 with arguments.
var macGreeting = []byte("hello")

func (m *macServer) Accept(ctx context.Context, a *oncrpc.Acceptance) error {
	if m.accepted != nil {
		m.accepted <- struct{}{}
		<-m.accepted
	}
	h := a.Header()
	var cred xdr.Decoder
	cred.Reset(h.Cred.Body, nil)
	name, session, seq := cred.String(100), cred.Uint32(), cred.Uint32()
	if cred.Finish() != nil {
		return &oncrpc.AuthError{Stat: oncrpc.AuthBadCred}
	}
	key := m.keys[name]
	var e xdr.Encoder
	h.EncodeToCred(&e)
	if key == "" || h.Verf.Flavor != macFlavor || !hmac.Equal(h.Verf.Body, mac(key, e.Message().Inline)) {
		return &oncrpc.AuthError{Stat: oncrpc.AuthBadVerf}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if session < m.session {
		return &oncrpc.AuthError{Stat: oncrpc.GSSCredProblem}
	}
	for _, s := range m.seen {
		if s == seq {
			return oncrpc.ErrDrop
		}
	}
	m.seen = append(m.seen, seq)
	if m.replyKey != "" {
		key = m.replyKey
	}
	w := &macWrapper{m, m.keys[name], seq}
	a.Identity, a.Wrapper = macIdentity(name), w
	a.Verifier = oncrpc.Auth{Flavor: macFlavor, Body: mac(key, number(seq))}
	if err := openMAC(a.Args(), w.key, seq); err != nil {
		return oncrpc.ErrGarbageArgs
	}
	if h.Procedure == 0 && a.Args().Remaining() > 0 {
		e := a.BeginAnswer()
		e.Opaque(macGreeting, 10)
		e.BulkBytes(macGreeting, nil)
	}
	return nil
}

func (m *macServer) sequence() []uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]uint32(nil), m.seen...)
}

type macIdentity string

func (id macIdentity) AppendKey(b []byte) []byte { return append(b, id...) }
func (id macIdentity) String() string            { return string(id) }

type macWrapper struct {
	m   *macServer
	key string
	seq uint32
}

func (w *macWrapper) Wrap(e *xdr.Encoder, results *xdr.Message) error {
	if w.m.wrapErr != nil {
		return w.m.wrapErr
	}
	wrapMAC(e, w.key, w.seq, results)
	return nil
}
