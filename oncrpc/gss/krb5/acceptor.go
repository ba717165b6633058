package krb5

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// DefaultSkew is the default of the allowed difference between clocks (RFC 4120 section 1.6, MIT's
// default).
const DefaultSkew = 5 * time.Minute

// DefaultMaxReplays is the default of AcceptorConfig.MaxReplays.
const DefaultMaxReplays = 65536

// AcceptorConfig configures an Acceptor.
type AcceptorConfig struct {
	// Keytab is the path of the keytab; "" means the value of KRB5_KTNAME, else /etc/krb5.keytab.
	// The Acceptor reads it again when it has changed. While it is missing or malformed, the former
	// keys are used.
	Keytab string
	// Principal is the service whose tickets are accepted, "nfs/server.example.org", or with its
	// realm, "nfs/server.example.org@EXAMPLE.ORG"; "" means all principals in the keytab.
	Principal string
	// Skew is how much the clocks of clients may differ; 0 means DefaultSkew. Tickets are accepted
	// this much longer.
	Skew time.Duration
	// MaxReplays is how many authenticators are remembered, each for twice Skew, so that none is
	// accepted twice; 0 means DefaultMaxReplays. A client may use an eighth of them, and gets
	// another only if it then has no more than remain free, or has none. Beyond that, contexts are
	// refused, because a forgotten authenticator could be replayed (RFC 4120 section 3.2.3).
	MaxReplays int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Acceptor creates contexts as a service, with the keys in a keytab. It implements gss.Acceptor.
type Acceptor struct {
	cfg     AcceptorConfig
	only    principal // whose tickets are accepted; any if it has no name
	keys    serviceKeys
	first   principal // in the keytab at the start
	replays replayCache
}

var _ gss.Acceptor = (*Acceptor)(nil)

// NewAcceptor reads the keytab. It returns an error if the keytab has no usable key.
func NewAcceptor(cfg AcceptorConfig) (*Acceptor, error) {
	if cfg.Skew == 0 {
		cfg.Skew = DefaultSkew
	}
	if cfg.MaxReplays == 0 {
		cfg.MaxReplays = DefaultMaxReplays
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	path, err := keytabPath(cfg.Keytab)
	if err != nil {
		return nil, err
	}
	a := &Acceptor{cfg: cfg}
	if cfg.Principal != "" {
		if a.only, err = parsePrincipal(cfg.Principal); err != nil {
			return nil, err
		}
	}
	a.replays = replayCache{
		max: cfg.MaxReplays, maxEach: max(1, cfg.MaxReplays/8), keep: 2 * cfg.Skew,
		seen: make(map[authenticatorID]struct{}), clients: make(map[string]int),
	}
	a.keys.path, a.keys.accepts = path, a.accepts
	keys, err := a.keys.current(cfg.Now())
	if err == nil {
		err = keys.empty
	}
	if err != nil {
		return nil, err
	}
	a.first = keys.owners[0]
	return a, nil
}

// accepts reports whether tickets for a principal may be accepted.
func (a *Acceptor) accepts(p principal) bool {
	if len(a.only.name) == 0 {
		return true
	}
	want := a.only
	if want.realm == "" {
		want.realm = p.realm
	}
	return p.equal(want)
}

// Principals returns the principals whose tickets are accepted.
func (a *Acceptor) Principals() []string { return names(a.keys.owners()) }

// Accept begins a context.
func (a *Acceptor) Accept() gss.Negotiation { return &acceptance{acceptor: a} }

// acceptance is a context that a client creates.
type acceptance struct {
	acceptor *Acceptor
	made     bool
}

// Step processes an AP-REQ. With an error it returns a KRB-ERROR token for the client.
func (n *acceptance) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	if n.made {
		return nil, nil, defective(errors.New("the context is complete already"))
	}
	id, msg, err := unframe(token)
	if err != nil {
		return nil, nil, err
	}
	if id != tokAPReq {
		// The client may try another token (RFC 4121 section 4.1).
		return n.acceptor.refusal(codeMsgType), nil, nil
	}
	reply, made, err := n.acceptor.accept(msg)
	if err != nil {
		return n.acceptor.refusal(codeOf(err)), nil, err
	}
	n.made = true
	return reply, made, nil
}

// refusal returns a KRB-ERROR token, or nil if it cannot be encoded.
func (a *Acceptor) refusal(c code) []byte {
	msg, err := marshalError(c, a.cfg.Now(), a.first)
	if err != nil {
		return nil
	}
	return frame(tokError, msg)
}
