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
	// Initiator makes the contexts.
	Initiator Initiator
	// Target is the service that is called, "nfs@server.example.org" (RFC 2743 section 4.1).
	Target string
	// Service is what is protected; 0 means None.
	Service Service
	// Now is the clock by which contexts expire; nil means time.Now.
	Now func() time.Time
}

// ClientFlavor is RPCSEC_GSS at the client: one principal calls one service of one server. Clients
// of all programs that the server knows its contexts for may share it, over however many
// connections, of whichever transports, one after another or at a time (package redial).
//
// It has one context, which the first call makes; further ones wait for it. A context is made anew
// before it expires or its sequence numbers run out, for which a call takes half of its own time at
// most, and goes on with the old one if that fails; and when the server knows it no more. When that
// fails, calls fail the same for a while, from 1 s up to 30 s, without another attempt.
//
// At most as many calls are under way as the server's window has places (RFC 2203 section 5.2.3.1);
// further ones wait. A call that is overtaken by a window of others, which takes several
// connections, is dropped by the server all the same.
type ClientFlavor struct {
	cfg     ClientConfig
	current atomic.Pointer[clientContext] // nil until there is the first
	making  chan struct{}                 // has an element while somebody makes a context

	// Of the last attempt that failed, with making.
	failed  error
	retryAt time.Time
	wait    time.Duration

	mu       sync.Mutex // guards what follows
	underWay int        // calls that Ready has let go ahead
	waiting  list.List[waiter]
	replaced []*clientContext // to be destroyed when the calls with them have ended

	hasReplaced atomic.Bool // there are such
}

// clientContext is a context with a server.
type clientContext struct {
	Context
	handle    []byte
	window    int // the calls that may be under way
	slack     int
	refreshAt time.Time     // zero: never
	seq       atomic.Uint32 // the last that was used
	stale     atomic.Bool   // the server knows it no more, or shall not
	used      atomic.Int32  // transmissions under way
}

// waiter is a call that waits for its place in the window.
type waiter struct {
	place list.Place[waiter]
	ready chan struct{} // closed when it has one
}

const (
	// spareSeqs is how many sequence numbers are left when a context is made anew.
	spareSeqs = 1 << 20
	// refreshBefore is how long before its end a context is made anew, or a tenth of its time, if
	// that is less.
	refreshBefore = 5 * time.Minute
	// least is the time that a context must have left to be made anew early.
	least = time.Second
	// retryFirst and retryMost are for how long after a failure none is made.
	retryFirst, retryMost = time.Second, 30 * time.Second
	// attempts is how often a context is begun whose connection is lost.
	attempts = 3
	// refreshTimeout is how long a call waits for a context that it could do without.
	refreshTimeout = 5 * time.Second
	// destroyTimeout is how long a call waits for the server to forget a context that was replaced.
	destroyTimeout = 5 * time.Second
	// maxReplaced is the number of replaced contexts that the server is to be told to forget.
	maxReplaced = 8
)

// NewClientFlavor returns a flavour without a context yet. It panics with an *oncrpc.ConfigError if
// cfg has no Initiator, or an unknown Service.
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

// Slack returns what the present context adds to a reply.
func (f *ClientFlavor) Slack() int {
	if cc := f.current.Load(); cc != nil {
		return cc.slack
	}
	return 0
}

// Ready waits until there is a context, and a place in the server's window. The error is an
// *OpError.
func (f *ClientFlavor) Ready(ctx context.Context, c *oncrpc.Client) error {
	cc, err := f.context(ctx, c)
	if err == nil {
		var waited bool
		if waited, err = f.enter(ctx, cc.window); waited && err == nil {
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

// context returns the context for the next call, and makes it if need be.
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
			return cc, nil // somebody else makes the next one
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

// ahead bounds what a call does for the sake of later ones: that takes no more than d, and leaves
// it half of its own time.
func ahead(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, d)
}

// replaceWith makes a context in place of cc. Who calls it has f.making.
func (f *ClientFlavor) replaceWith(ctx context.Context, c *oncrpc.Client, cc *clientContext,
	now time.Time) (*clientContext, error) {
	next, err := f.attempt(ctx, c, now, cc.usable(now))
	if err != nil {
		return nil, err
	}
	f.current.Store(next)
	f.replace(cc, now)
	f.destroyReplaced(ctx, c, now)
	return next, nil
}

// fresh reports whether a context is good, and need not be made anew yet.
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

// attempt makes a context, unless that has failed just now. early says that it is not needed yet.
// Who calls it has f.making.
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
		if ended { // which says nothing of calls with more time, or another connection
			f.failed = nil
		}
	}
	return cc, err
}

// begin makes a context. The connection may be lost, and another one come (package redial): then it
// begins anew, as the server may have seen its token.
func (f *ClientFlavor) begin(ctx context.Context, c *oncrpc.Client) (cc *clientContext, err error) {
	for range attempts {
		cc, err = negotiate(ctx, c, &f.cfg)
		if err == nil || !errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			break
		}
	}
	return cc, err
}

// refreshTime returns when a context is to be made anew, if it is made now.
func refreshTime(now, end time.Time) time.Time {
	left := end.Sub(now)
	if end.IsZero() || left < least {
		return end
	}
	return end.Add(-min(left/10, refreshBefore))
}

// enter waits until fewer than window calls are under way, and counts one more. It reports whether
// it has waited.
func (f *ClientFlavor) enter(ctx context.Context, window int) (waited bool, err error) {
	f.mu.Lock()
	if f.underWay < window {
		f.underWay++
		f.mu.Unlock()
		return false, nil
	}
	w := &waiter{ready: make(chan struct{})}
	f.waiting.Push(&w.place, w)
	f.mu.Unlock()
	select {
	case <-w.ready:
		return true, nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.place.In() {
		f.waiting.Remove(&w.place)
	} else {
		f.leave()
	}
	return true, ctx.Err()
}

// Ended counts one call less that is under way (oncrpc.CallTracker).
func (f *ClientFlavor) Ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// leave gives a place in the window back, with f.mu held, and lets in who has waited longest.
func (f *ClientFlavor) leave() {
	f.underWay--
	window := f.current.Load().window
	for w := f.waiting.First(); w != nil && f.underWay < window; w = f.waiting.First() {
		f.waiting.Remove(&w.place)
		f.underWay++
		close(w.ready)
	}
}

// clientCheck is one transmission of a call.
type clientCheck struct {
	message
	f  *ClientFlavor
	cc *clientContext
}

var clientChecks = sync.Pool{New: func() any { return new(clientCheck) }}

var (
	errNoContext = errors.New("gss: no context: Ready makes it")
	errNumbers   = errors.New("gss: sequence numbers of the context are used up")
	errLater     = errors.New("gss: a context was not made just now")
)

// Seal numbers a transmission, signs its header, and protects its arguments (RFC 2203 section 5.3).
func (f *ClientFlavor) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	cc := f.current.Load()
	if cc == nil {
		return nil, errNoContext
	}
	k := clientChecks.Get().(*clientCheck)
	k.f, k.cc = f, cc
	cc.used.Add(1)
	if err := k.seal(e, procData, f.cfg.Service, args); err != nil {
		f.Over(k)
		return nil, err
	}
	return k, nil
}

// seal appends all that follows the header.
func (k *clientCheck) seal(e *xdr.Encoder, p procedure, s Service, args *xdr.Message) error {
	seq := k.cc.seq.Add(1)
	if seq >= maxSeq {
		k.cc.seq.Store(maxSeq)
		return errNumbers
	}
	k.begin(k.cc.Context, s, seq)
	cred := credential{version1, p, seq, s, k.cc.handle}
	cred.encode(e)
	var err error
	if k.mic, err = k.appendMIC(k.mic[:0], e.Message().Inline); err != nil {
		return err
	}
	e.Uint32(uint32(oncrpc.FlavorGSS))
	e.Opaque(k.mic, oncrpc.MaxAuthBody)
	return k.protect(e, args)
}

// Over takes a check back (oncrpc.CallTracker).
func (f *ClientFlavor) Over(c oncrpc.ReplyCheck) {
	k := c.(*clientCheck)
	k.cc.used.Add(-1)
	k.end()
	k.f, k.cc = nil, nil
	clientChecks.Put(k)
}

// Verify checks the verifier of a reply: the checksum of the sequence number (RFC 2203 section
// 5.3.3.2).
func (k *clientCheck) Verify(verf *oncrpc.Auth) error {
	if verf.Flavor != oncrpc.FlavorGSS {
		return errVerifier
	}
	return k.verifyMIC(verf.Body, k.number[:])
}

// Open checks or decrypts the results.
func (k *clientCheck) Open(results *xdr.Decoder) error { return k.open(results) }

// RetryDenied forgets a context that the server does not know any more, or takes no more calls with
// (RFC 2203 section 5.3.3.3), and has the call made with another one.
func (k *clientCheck) RetryDenied(err *oncrpc.AuthError) bool {
	if err.Stat != oncrpc.GSSCredProblem && err.Stat != oncrpc.GSSCtxProblem {
		return false
	}
	k.cc.stale.Store(true)
	return true
}
