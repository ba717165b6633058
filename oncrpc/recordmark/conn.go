package recordmark

import (
	"cmp"
	"context"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Conn is one connection that carries RPC messages as records. It is an oncrpc.Transport. Its parts
// do the work:
//
//   - the caller makes the calls of this side (caller.go);
//   - the responder answers the calls of the peer (responder.go);
//   - the sender writes the messages of both (sender.go, queue.go, gather.go);
//   - the receiver reads, and hands replies to the caller and calls to the responder (receiver.go,
//     reader.go).
type Conn struct {
	conn     net.Conn
	cfg      Config
	counters *Counters

	ctx    context.Context // of the peer's calls; ends with the connection
	cancel context.CancelCauseFunc
	done   chan struct{}
	once   sync.Once // starts the two goroutines

	sender    sender
	receiver  receiver
	caller    caller
	responder responder

	mu      sync.Mutex // guards what follows, and what the parts say it guards
	running int        // of the two goroutines
	err     error      // why the connection ended
	tls     secrecy
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
	_ oncrpc.TLSStarter     = (*Conn)(nil)
)

// NewConn makes a connection of conn, which it owns from now on, unless it fails. Nothing is read
// before the first RoundTrip or Serve. Its error is a *oncrpc.ConfigError.
func NewConn(conn net.Conn, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return newConn(conn, cfg), nil
}

// newConn is NewConn with what withDefaults returns.
func newConn(conn net.Conn, cfg Config) *Conn {
	c := &Conn{
		conn:     conn,
		cfg:      cfg,
		counters: cfg.Counters,
		done:     make(chan struct{}),
	}
	c.counters.conns.Add(1)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.sender.open(c)
	c.receiver.open(c)
	c.caller.open(c)
	c.responder.conn = c
	return c
}

// Dial connects to a server over TCP. The context bounds the dialling only. Its error is a
// *oncrpc.ConfigError, or an *OpError that wraps that of the network.
func Dial(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &OpError{Op: "dial", Err: err}
	}
	return newConn(cfg.wrap(conn), cfg), nil
}

// start starts the two goroutines, once.
func (c *Conn) start() {
	c.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.running = 2
			go c.receiver.run()
			go c.sender.run()
		}
	})
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// Credits returns Config.MaxCalls, the calls under way, and the calls that wait because there are
// as many: oncrpc.CreditReporter. A call whose context has ended is not under way any more.
func (c *Conn) Credits() (grant, inUse, waiting int) {
	return c.caller.credits()
}

// Stats returns what Config.Counters, or without them this connection, has
// counted.
func (c *Conn) Stats() Stats { return c.counters.Stats() }

// Close ends the connection at once. Calls under way fail with an error that wraps
// net.ErrClosed, on both sides; the contexts of the peer's calls end. It does not
// wait for their handlers: Done does.
func (c *Conn) Close() error {
	c.fail("close", net.ErrClosed)
	return nil
}

// Done is closed when the connection has ended and the last handler of a call that came
// on it has returned.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended, as an *OpError that wraps net.ErrClosed after
// Close, ErrClosedByPeer after an orderly end by the peer. Before that it is nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection, for the first reason given.
func (c *Conn) fail(op string, err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = cmp.Or(c.sender.err, c.opError(op, lost{err}))
	c.counters.ended(op, c.err)
	c.caller.fail(c.err)
	lost := c.sender.discard()
	c.sender.filled.Broadcast()
	c.receiver.room.Broadcast()
	secured := c.tls.conn
	c.mu.Unlock()

	c.cancel(c.err)
	if secured != nil {
		secured.Close() // with an alert that this is the end, if nothing is being written
	}
	c.conn.Close()
	c.responder.drop(lost)
	c.mu.Lock()
	c.checkDone()
	c.mu.Unlock()
}

// opError wraps err in what was being done, and with whom.
func (c *Conn) opError(op string, err error) error { return &OpError{op, c.RemoteAddr(), err} }

// exit ends one of the two goroutines.
func (c *Conn) exit() {
	c.mu.Lock()
	c.running--
	c.checkDone()
	c.mu.Unlock()
}

// checkDone announces that nothing of the connection is left; c.mu is held.
func (c *Conn) checkDone() {
	if c.err == nil || c.running > 0 || c.responder.unserved > 0 {
		return
	}
	select {
	case <-c.done:
	default:
		close(c.done)
	}
}
