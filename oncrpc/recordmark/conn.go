package recordmark

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Conn is a connection that carries RPC messages as records. It is an oncrpc.Transport and safe for
// concurrent use. It has four parts:
//
//   - the caller makes the calls of this end (caller.go);
//   - the responder answers the calls of the peer (responder.go);
//   - the sender writes the messages of both (sender.go, queue.go, gather.go);
//   - the receiver reads, and passes replies to the caller and calls to the responder (receiver.go,
//     reader.go).
type Conn struct {
	conn     net.Conn
	tcp      *net.TCPConn // conn, or inside it, if it was dialled
	cfg      Config
	counters *Counters

	ctx    context.Context // for the peer's calls; ends with the connection
	cancel context.CancelCauseFunc
	done   chan struct{}
	once   sync.Once // starts the two goroutines

	sender    sender
	receiver  receiver
	caller    caller
	responder responder

	mu      sync.Mutex // guards the fields below, and what the parts say
	running int        // how many of the two goroutines run
	err     error      // why the connection ended
	tls     secrecy
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
	_ oncrpc.PortCaller     = (*Conn)(nil)
	_ oncrpc.TLSStarter     = (*Conn)(nil)
)

// NewConn makes a Conn from conn and owns conn from then on, unless it fails. Nothing is read
// before the first RoundTrip or Serve. Its error is a *oncrpc.ConfigError.
func NewConn(conn net.Conn, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return newConn(conn, cfg), nil
}

// newConn is NewConn for a configuration from withDefaults.
func newConn(conn net.Conn, cfg Config) *Conn {
	c := &Conn{
		conn:     conn,
		cfg:      cfg,
		counters: cfg.Counters,
		done:     make(chan struct{}),
	}
	atomic.AddUint64(&c.counters.stats.Conns, 1)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.sender.open(c)
	c.receiver.open(c)
	c.caller.open(c)
	c.responder.conn = c
	return c
}

// Dial connects to a server over TCP, from the address of oncrpc.DialFrom(ctx) if that is free. The
// context limits only the dialling. Its error is a *oncrpc.ConfigError, or an *OpError that wraps
// the network's error.
func Dial(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := dialAgain(ctx, addr)
	if err == nil && conn == nil {
		conn, err = dialAny(ctx, addr)
	}
	return dialled(conn, err, cfg)
}

// dialled makes a Conn of a connection that was dialled.
func dialled(conn net.Conn, err error, cfg Config) (*Conn, error) {
	if err != nil {
		return nil, &OpError{Op: "dial", Err: err}
	}
	c := newConn(cfg.wrap(conn), cfg)
	c.tcp, _ = conn.(*net.TCPConn)
	return c, nil
}

// start starts the two goroutines once.
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

// CallsFrom returns the address of this end over TCP, by which servers know their callers. It
// implements oncrpc.PortCaller.
func (c *Conn) CallsFrom() netip.AddrPort {
	if tcp, ok := c.LocalAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

// Credits returns Config.MaxCalls, the number of pending calls, and the number of calls that wait
// to become pending. A call whose context has ended is no longer pending. It implements
// oncrpc.CreditReporter.
func (c *Conn) Credits() (grant, inUse, waiting int) {
	return c.caller.credits()
}

// Stats returns the values of Config.Counters or, if that is nil, of this connection alone.
func (c *Conn) Stats() Stats { return c.counters.Stats() }

// Close ends the connection at once. Pending calls fail on both ends, here with an error that wraps
// net.ErrClosed, and the contexts of the peer's calls end. Close does not wait for their handlers;
// use Done for that.
func (c *Conn) Close() error {
	c.fail("close", net.ErrClosed)
	return nil
}

// Done returns a channel that is closed when the connection has ended and the last handler of its
// calls has returned.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, or nil if it has not. It is an *OpError that wraps
// net.ErrClosed after Close, and ErrClosedByPeer after an orderly close by the peer.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection. The first reason given counts.
func (c *Conn) fail(op string, err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = cmp.Or(c.sender.err, c.opError(op, lost{err}))
	c.counters.ended(op, c.err)
	unanswered := len(c.caller.pending) > 0 || c.caller.givenUp > 0
	c.caller.fail(c.err)
	lost := c.sender.discard()
	c.sender.filled.Broadcast()
	c.receiver.room.Broadcast()
	secured := c.tls.conn
	c.mu.Unlock()

	c.cancel(c.err)
	if secured != nil {
		secured.Close() // sends a close alert if nothing is being written
	}
	if c.tcp != nil && (op != "close" || unanswered) {
		c.tcp.SetLinger(0) // frees the port for the connection that replaces this one
	}
	c.conn.Close()
	c.responder.drop(lost)
	c.mu.Lock()
	c.checkDone()
	c.mu.Unlock()
}

// opError wraps err in an *OpError with the peer's address.
func (c *Conn) opError(op string, err error) error { return &OpError{op, c.RemoteAddr(), err} }

// notSent returns the error of a call of which nothing has left.
func (c *Conn) notSent(err error) error {
	return c.opError("call", fmt.Errorf("%w: %w", oncrpc.ErrNotSent, err))
}

// exit notes that one of the two goroutines ends.
func (c *Conn) exit() {
	c.mu.Lock()
	c.running--
	c.checkDone()
	c.mu.Unlock()
}

// checkDone closes c.done if nothing of the connection is left; c.mu is held.
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
