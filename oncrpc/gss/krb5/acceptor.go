package krb5

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// DefaultSkew is by how much clocks may differ (RFC 4120 section 1.6, MIT's default).
const DefaultSkew = 5 * time.Minute

// DefaultMaxReplays is for how many authenticators there is room, unless AcceptorConfig says.
const DefaultMaxReplays = 65536

// AcceptorConfig configures an Acceptor.
type AcceptorConfig struct {
	// Keytab is the path of the keytab; "" means what KRB5_KTNAME says, else /etc/krb5.keytab. It
	// is read again if it has changed when a ticket is for a key that it has not had.
	Keytab string
	// Principal is whose tickets are accepted, "nfs/server.example.org" or, in one realm only,
	// "nfs/server.example.org@EXAMPLE.ORG"; "" means those for any that the keytab has.
	Principal string
	// Skew is by how much the clocks of clients may differ; 0 means DefaultSkew. Tickets are
	// accepted this much longer.
	Skew time.Duration
	// MaxReplays is how many authenticators are remembered, each for twice Skew, so that none is
	// accepted twice; 0 means DefaultMaxReplays. A client may have an eighth of them, and gets
	// another only while it then has no more than are left for all, unless it has none. Beyond that
	// contexts are refused, since what is not remembered could be a replay (RFC 4120 section
	// 3.2.3).
	MaxReplays int
	// Now is the time; nil means time.Now.
	Now func() time.Time
}

// Acceptor makes contexts as a service, by the keys in a keytab. It implements gss.Acceptor.
type Acceptor struct {
	cfg     AcceptorConfig
	path    string    // of the keytab
	only    principal // whose tickets are accepted; without a name: any
	keys    serviceKeys
	replays replayCache
}

var _ gss.Acceptor = (*Acceptor)(nil)

// NewAcceptor reads the keytab. It returns an error if that has no key that could be used.
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
	a := &Acceptor{cfg: cfg, path: path}
	if cfg.Principal != "" {
		if a.only, err = parsePrincipal(cfg.Principal); err != nil {
			return nil, err
		}
	}
	a.replays = replayCache{
		max: cfg.MaxReplays, maxEach: max(1, cfg.MaxReplays/8), keep: 2 * cfg.Skew,
		seen: make(map[authenticatorID]struct{}), clients: make(map[string]int),
	}
	a.keys.path = path
	if err := a.keys.read(a.accepts); err != nil {
		return nil, err
	}
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

// Principals are those whose tickets are accepted.
func (a *Acceptor) Principals() []string { return a.keys.names() }

// Accept begins a context.
func (a *Acceptor) Accept() gss.Negotiation { return &acceptance{acceptor: a} }

// acceptance is a context that a client makes.
type acceptance struct {
	acceptor *Acceptor
	made     bool
}

// Step takes an AP-REQ. The token of an error, a KRB-ERROR, comes with it.
func (n *acceptance) Step(_ context.Context, token []byte) ([]byte, gss.Context, error) {
	if n.made {
		return nil, nil, defective(errors.New("the context has been made"))
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

// refusal is the token of a KRB-ERROR, nil if there is none.
func (a *Acceptor) refusal(c code) []byte {
	msg, err := marshalError(c, a.cfg.Now(), a.keys.first())
	if err != nil {
		return nil
	}
	return frame(tokError, msg)
}
