package gss

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ClientConfig configures a ClientFlavor.
type ClientConfig struct {
	// Initiator creates the contexts.
	Initiator Initiator
	// Target is the service to call, such as "nfs@server.example.org" (RFC 2743 section 4.1).
	Target string
	// Service is the protection of arguments and results; 0 means None.
	Service Service
	// Now is the clock for the expiry of contexts; nil means time.Now.
	Now func() time.Time
}

// ClientFlavor is RPCSEC_GSS at the client, for one principal that calls one service of one server.
// Several oncrpc.Clients may share it, for all programs for which the server shares its contexts.
// It works over any number of connections and transports, also after reconnecting (package redial).
//
// It has one context, which the first call creates while other calls wait. It creates a new one:
//
//   - Before the context expires or its sequence numbers run out. The call that does so spends at
//     most half of its own time on that, and continues with the old context if that fails.
//   - When the server no longer knows the context.
//
// If a new context is needed and cannot be created, all calls fail with the same error for a while,
// from 1 s to 30 s, without another attempt.
//
// A call waits while its sequence number would be a whole window of the server above that of a call
// without an answer, because the server drops calls that arrive below its window (RFC 2203 section
// 5.3.3.1). So one call without an answer stops the others when they have used up the window. A
// call whose context has ended stops nobody. It may still be on its way, and a window's worth of
// later calls may overtake it: the server then drops it.
type ClientFlavor struct {
	cfg     ClientConfig
	current atomic.Pointer[clientContext] // nil until there is the first
	making  chan struct{}                 // has an element while a context is being created

	// About the last failed attempt; guarded by making.
	failed  error
	retryAt time.Time
	wait    time.Duration

	mu       sync.Mutex // guards the fields below, and clientContext.unanswered
	underWay int        // calls between Ready and Ended
	sealed   int        // of these, between Seal and Over: they have a sequence number
	waiting  list.List[waiter]
	replaced []*clientContext // to be destroyed when their calls have ended

	hasReplaced atomic.Bool // replaced is not empty
}

// clientContext is a context with a server.
type clientContext struct {
	Context
	handle     []byte
	window     int // seq_window of the server
	slack      int
	refreshAt  time.Time              // zero means never
	seq        atomic.Uint32          // last used
	stale      atomic.Bool            // the server has forgotten it, or is to forget it
	unanswered list.List[clientCheck] // pending transmissions by sequence number, lowest first
}

const (
	// spareSeqs is how many sequence numbers remain unused. With twice as many left, a new context
	// is created.
	spareSeqs = 1 << 20
	// refreshBefore is how long before a context expires a new one is created, or a tenth of its
	// lifetime if that is less.
	refreshBefore = 5 * time.Minute
	// least is the lifetime below which a context is not renewed early.
	least = time.Second
	// retryFirst and retryMost are the shortest and longest pause after a failed creation.
	retryFirst, retryMost = time.Second, 30 * time.Second
	// attempts is how often the creation of a context is tried if the connection is lost.
	attempts = 3
	// refreshTimeout limits how long a call waits for a new context while the old one is still
	// usable.
	refreshTimeout = 5 * time.Second
	// destroyTimeout limits how long a call waits for the server to destroy replaced contexts.
	destroyTimeout = 5 * time.Second
	// maxReplaced is the maximum number of replaced contexts to destroy later.
	maxReplaced = 8
)

// NewClientFlavor returns a flavour that has no context yet. It panics with an *oncrpc.ConfigError
// if cfg has no Initiator or an unknown Service.
func NewClientFlavor(cfg ClientConfig) *ClientFlavor {
	const config = "gss.ClientConfig"
	if cfg.Initiator == nil {
		panic(&oncrpc.ConfigError{Config: config, Field: "Initiator", Want: "a mechanism"})
	}
	if cfg.Service == 0 {
		cfg.Service = None
	}
	if cfg.Service > Privacy {
		panic(&oncrpc.ConfigError{Config: config, Field: "Service", Value: uint32(cfg.Service),
			Want: "None, Integrity or Privacy"})
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &ClientFlavor{cfg: cfg, making: make(chan struct{}, 1)}
}

// Flavor returns oncrpc.FlavorGSS.
func (f *ClientFlavor) Flavor() oncrpc.AuthFlavor { return oncrpc.FlavorGSS }

// AllowsPlacement reports whether the service is None.
func (f *ClientFlavor) AllowsPlacement() bool { return f.cfg.Service == None }

// Slack returns how many bytes the current context adds to a reply.
func (f *ClientFlavor) Slack() int {
	if cc := f.current.Load(); cc != nil {
		return cc.slack
	}
	return 0
}

// Ready waits until there is a context, and a sequence number in the server's window. The error is
// an *OpError.
func (f *ClientFlavor) Ready(ctx context.Context, c *oncrpc.Client) error {
	_, err := f.context(ctx, c)
	if err == nil {
		var waited bool
		if waited, err = f.enter(ctx); waited && err == nil {
			if _, err = f.context(ctx, c); err != nil {
				f.Ended()
			}
		}
	}
	if err != nil {
		return f.opError("create context", c, err)
	}
	return nil
}

func (f *ClientFlavor) opError(op string, c *oncrpc.Client, err error) error {
	return &OpError{op, f.cfg.Target, c.Transport().RemoteAddr(), err}
}

// context returns the context for the next call, creating it if necessary.
func (f *ClientFlavor) context(ctx context.Context, c *oncrpc.Client) (*clientContext, error) {
	cc := f.current.Load()
	now := f.cfg.Now()
	if cc.fresh(now) {
		if f.hasReplaced.Load() {
			f.destroyReplaced(ctx, c, now)
		}
		return cc, nil
	}
	select {
	case f.making <- struct{}{}:
	default:
		if cc.usable(now) {
			return cc, nil // another call creates the next one
		}
		select {
		case f.making <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-f.making }()
	cc, now = f.current.Load(), f.cfg.Now()
	if cc.fresh(now) {
		return cc, nil
	}
	if !cc.usable(now) {
		return f.replaceWith(ctx, c, cc, now)
	}
	early, cancel := ahead(ctx, refreshTimeout)
	defer cancel()
	if next, err := f.replaceWith(early, c, cc, now); err == nil {
		return next, nil
	}
	return cc, nil
}

// ahead limits what a call does for the sake of later ones: to d, and to half of its own time.
func ahead(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, d)
}

// replaceWith creates a context to replace cc. The caller holds f.making.
func (f *ClientFlavor) replaceWith(ctx context.Context, c *oncrpc.Client, cc *clientContext,
	now time.Time) (*clientContext, error) {
	next, err := f.attempt(ctx, c, now, cc.usable(now))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.current.Store(next)
	f.admit()
	f.mu.Unlock()
	f.replace(cc, now)
	f.destroyReplaced(ctx, c, now)
	return next, nil
}

// fresh reports whether a context is usable and need not be replaced yet.
func (cc *clientContext) fresh(now time.Time) bool {
	return cc.usable(now) && (cc.refreshAt.IsZero() || now.Before(cc.refreshAt)) &&
		cc.seq.Load() < maxSeq-2*spareSeqs
}

// usable reports whether a context may be used.
func (cc *clientContext) usable(now time.Time) bool {
	return cc != nil && !cc.stale.Load() && cc.seq.Load() < maxSeq-spareSeqs && !cc.expired(now)
}

func (cc *clientContext) expired(now time.Time) bool {
	end := cc.Expires()
	return !end.IsZero() && !now.Before(end)
}

// attempt creates a context, unless that failed a moment ago. early says that the old one is still
// usable. The caller holds f.making.
func (f *ClientFlavor) attempt(ctx context.Context, c *oncrpc.Client, now time.Time, early bool) (
	*clientContext, error) {
	if now.Before(f.retryAt) && (f.failed != nil || early) {
		return nil, cmp.Or(f.failed, errLater)
	}
	cc, err := f.begin(ctx, c)
	ended := ctx.Err() != nil || errors.Is(err, net.ErrClosed)
	switch {
	case err == nil:
		f.failed, f.wait, f.retryAt = nil, 0, time.Time{}
		cc.slack = slack(cc.Context, f.cfg.Service)
		cc.refreshAt = refreshTime(f.cfg.Now(), cc.Expires())
	case !ended || early:
		f.wait = min(max(2*f.wait, retryFirst), retryMost)
		f.failed, f.retryAt = err, f.cfg.Now().Add(f.wait)
		if ended { // calls with more time or another connection may succeed
			f.failed = nil
		}
	}
	return cc, err
}

// begin creates a context. If the connection is lost and replaced (package redial), it starts over,
// because the server may have seen the token.
func (f *ClientFlavor) begin(ctx context.Context, c *oncrpc.Client) (cc *clientContext, err error) {
	for range attempts {
		cc, err = negotiate(ctx, c, &f.cfg)
		if err == nil || !errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			break
		}
	}
	return cc, err
}

// refreshTime returns when a context created now is to be replaced.
func refreshTime(now, end time.Time) time.Time {
	left := end.Sub(now)
	if end.IsZero() || left < least {
		return end
	}
	return end.Add(-min(left/10, refreshBefore))
}

// clientCheck is one transmission of a call.
type clientCheck struct {
	message
	cc    *clientContext
	place list.Place[clientCheck] // in cc.unanswered
}

var clientChecks = sync.Pool{New: func() any { return new(clientCheck) }}

var (
	errNoContext = errors.New("gss: no context: call Ready first")
	errNumbers   = errors.New("gss: sequence numbers of the context are used up")
	errLater     = errors.New("gss: creating a context failed a moment ago")
)

// Seal numbers a transmission, signs its header, and protects its arguments (RFC 2203 section 5.3).
func (f *ClientFlavor) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	k := clientChecks.Get().(*clientCheck)
	if err := f.number(k); err != nil {
		clientChecks.Put(k)
		return nil, err
	}
	if err := k.seal(e, procData, args); err != nil {
		f.Over(k)
		return nil, err
	}
	return k, nil
}

// seal appends everything after the header of a numbered transmission.
func (k *clientCheck) seal(e *xdr.Encoder, p procedure, args *xdr.Message) error {
	cred := credential{version1, p, k.seq, k.service, k.cc.handle}
	cred.encode(e)
	var err error
	if k.mic, err = k.appendMIC(k.mic[:0], e.Message().Inline); err != nil {
		return err
	}
	e.Uint32(uint32(oncrpc.FlavorGSS))
	e.Opaque(k.mic, oncrpc.MaxAuthBody)
	return k.protect(e, args)
}

// Over takes a check back. It implements oncrpc.CallTracker.
func (f *ClientFlavor) Over(c oncrpc.ReplyCheck) {
	k := c.(*clientCheck)
	f.forget(k)
	k.end()
	k.cc = nil
	clientChecks.Put(k)
}

// Verify checks the verifier of a reply, the checksum of the sequence number (RFC 2203 section
// 5.3.3.2).
func (k *clientCheck) Verify(verf *oncrpc.Auth) error {
	if verf.Flavor != oncrpc.FlavorGSS {
		return errVerifier
	}
	return k.verifyMIC(verf.Body, k.number[:])
}

// Open checks or decrypts the results.
func (k *clientCheck) Open(results *xdr.Decoder) error { return k.open(results) }

// RetryDenied discards a context that the server no longer accepts (RFC 2203 section 5.3.3.3), and
// has the call retried with a new one.
func (k *clientCheck) RetryDenied(err *oncrpc.AuthError) bool {
	if err.Stat != oncrpc.GSSCredProblem && err.Stat != oncrpc.GSSCtxProblem {
		return false
	}
	k.cc.stale.Store(true)
	return true
}
