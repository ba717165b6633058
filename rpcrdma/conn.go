package rpcrdma

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Conn is an RPC-over-RDMA connection. It implements oncrpc.Transport. Both ends may call and
// serve; each direction has its own XIDs and credits. Methods may be called concurrently.
//
// The fields that every call touches come first, here and in the parts, to need few cache lines
// (docs/performance-history.md, Growth).
type Conn struct {
	mu   sync.Mutex // guards err, over, atEnd, and what the parts say it guards
	err  error      // why the connection ends
	over bool       // the endpoint has ended

	pool      *pool
	settings  atomic.Pointer[Settings]
	draft     *draft  // nil: the dialect is RFC8166
	cfg       *Config // shared by connections, and never changed
	importer  transport.Importer
	ctx       context.Context
	receiver  receiver
	responder responder
	caller    caller
	peer      private
	queue     sendQueue
	stats     stats
	traffic   traffic
	flow      flow

	ep        transport.Endpoint
	info      transport.Info
	agreeing  sync.Mutex       // held while settings are replaced
	invalid   transport.Access // RemoteInvalidate, if we told the peer that it may; otherwise 0
	abandoner transport.Abandoner
	progress  transport.ProgressReporter // nil if the provider is none
	leavePool func()                     // called at the end; nil: the pool belongs to a Serve
	gate      readGate
	cancel    context.CancelFunc
	done      chan struct{}
	atEnd     []func() // called when the endpoint has ended; mu guards it
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
)

// newConn makes a connection of an endpoint that is being prepared. It fails with ErrProviderLimits
// or ErrReceiveMemory. Prepare follows, and then connected or unmade.
func newConn(ep transport.Endpoint, cfg *Config, m *memory) (*Conn, error) {
	c := &Conn{ep: ep, info: ep.Info(), cfg: cfg, pool: m.pool, done: make(chan struct{})}
	if err := cfg.check(&c.info); err != nil {
		return nil, err
	}
	// Replies and calls, and in the Draft RDMA_DONEs, share the receive queue in equal parts.
	n := c.info.RecvDepth / 2
	if cfg.Dialect == Draft {
		c.draft = newDraft(c)
		n = (c.info.RecvDepth - 2) / 3 // a grant may be larger by two (credits.Granter)
	}
	if n = max(1, n); cfg.Credits > n {
		fewer := *cfg
		fewer.Credits = n
		c.cfg = &fewer
	}
	if c.info.RemoteInvalidate && !cfg.NoRemoteInvalidate && !cfg.NoPrivateData {
		c.invalid = transport.RemoteInvalidate
	}
	if err := c.flow.open(c, m); err != nil {
		return nil, err
	}
	c.importer, _ = ep.Domain().(transport.Importer)
	c.abandoner, _ = transport.As[transport.Abandoner](ep)
	c.progress, _ = transport.As[transport.ProgressReporter](ep)
	c.queue.ep, c.queue.fail = ep, c.fail
	c.gate.queue, c.gate.pace.answers = &c.queue, true
	c.queue.poller, _ = transport.As[transport.Poller](ep)
	c.receiver.conn = c
	c.caller.open(c)
	c.responder.conn = c
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// prepare posts the first receives, and returns the private data for the peer.
func (c *Conn) prepare() (private []byte, err error) {
	return c.cfg.private(c.invalid != 0), c.flow.start()
}

// connected takes up what the two ends have agreed on.
func (c *Conn) connected() {
	c.info = c.ep.Info()
	if !c.cfg.NoPrivateData {
		c.peer = parsePrivate(c.info.PrivateData)
	} else {
		c.peer = parsePrivate(nil)
	}
	c.settings.Store(c.initial())
	c.gate.limit = c.info.ORD
	c.cfg.Counters.began(c)
}

// unmade gives everything back, because the endpoint ends without a connection.
func (c *Conn) unmade() {
	<-c.ep.Done()
	c.mu.Lock()
	c.over = true
	c.flow.close()
	c.mu.Unlock()
	c.cancel()
	_, next := c.flow.gone()
	proceed(next)
	if c.leavePool != nil {
		c.leavePool()
	}
}

// LocalAddr returns this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.info.LocalAddr }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.info.RemoteAddr }

// Info describes the provider's connection.
func (c *Conn) Info() transport.Info { return c.info }

// Endpoint returns the provider's endpoint, for functions of its package such as iwarp.SetupOf. Do
// not post to it.
func (c *Conn) Endpoint() transport.Endpoint { return c.ep }

// Inline returns the largest calls sent inline, and the largest replies expected inline, in bytes
// with headers.
func (c *Conn) Inline() (send, recv int) {
	s := c.settings.Load()
	return s.MaxSend, s.MaxRecv
}

// Credits returns the peer's most recent grant, the credits in use, and the number of calls that
// wait for a credit, or for receives (Config.LimitBackwardCalls). It implements
// oncrpc.CreditReporter. A cancelled call uses its credit until the peer has answered it. An
// RDMA_DONE uses one until the peer is known to have taken it.
func (c *Conn) Credits() (grant, inUse, waiting int) {
	grant, calls, dones, waiting := c.caller.window.State()
	return grant, calls + dones, waiting
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended. It returns nil before the end.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection. It does not wait: Done is closed when everything has ended.
func (c *Conn) Close() error { return c.ep.Close() }

// fail ends the connection because of err. It does not record an err that only follows from the
// end.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err == nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrFlushed) {
		c.err = c.endError(err)
	}
	c.mu.Unlock()
	c.ep.Close()
}

// watch waits for the end of the endpoint, and then ends what is under way. Only then does the
// provider no longer touch memory.
func (c *Conn) watch() {
	<-c.ep.Done()
	c.mu.Lock()
	inOrder := c.err == nil && errors.Is(c.ep.Err(), net.ErrClosed)
	if c.err == nil {
		c.err = c.endError(c.reason())
	}
	err := c.err
	pending, leave := c.caller.pending, c.responder.leave
	c.caller.pending, c.over = callTable{}, true
	unread := c.flow.close()
	atEnd := c.atEnd
	c.atEnd = nil
	c.mu.Unlock()

	defer func() { // even if a handler or a Releaser ends this goroutine
		c.cfg.Counters.over(c, inOrder)
		if leave != nil {
			leave()
		}
		if c.leavePool != nil {
			c.leavePool()
		}
		close(c.done)
	}()
	c.cancel()
	c.caller.window.Close(err)
	c.queue.close()
	c.gate.close()
	for _, f := range atEnd {
		f()
	}
	for k := range pending.all {
		k.deliver(err)
	}
	gone, next := c.flow.gone()
	for _, in := range gone {
		in.Drop()
	}
	for _, in := range unread {
		in.finish()
	}
	proceed(next)
}

// reason returns why the endpoint ended; c.mu is held.
func (c *Conn) reason() error {
	err := c.ep.Err()
	if errors.Is(err, transport.ErrNoReceive) && !errors.Is(err, transport.ErrTerminated) {
		c.stats.exceeded.Add(1)
		err = fmt.Errorf("%w: %w", ErrCreditsExceeded, err)
	}
	return err
}

// endError wraps the reason for an end so that it always wraps net.ErrClosed.
func (c *Conn) endError(err error) error {
	if !errors.Is(err, net.ErrClosed) {
		err = fmt.Errorf("%w: %w", net.ErrClosed, err)
	}
	return &OpError{"connection to", c.info.RemoteAddr, err}
}
