package recordmark

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Conn is one connection that carries RPC messages as records. It is an
// oncrpc.Transport.
type Conn struct {
	conn     net.Conn
	cfg      Config
	counters *Counters

	ctx    context.Context // of the peer's calls; ends with the connection
	cancel context.CancelCauseFunc
	done   chan struct{}
	once   sync.Once // starts the two goroutines
	server atomic.Pointer[oncrpc.Dispatcher]
	slots  chan struct{} // one token for each call under way
	xid    atomic.Uint32 // last transaction id of our own choice

	waiting atomic.Int64 // calls that have no slot yet

	in     reader    // the reading goroutine's, with
	late   time.Time // when the record under way shall be here, if that was asked for,
	readBy time.Time // the deadline set for reads, and
	out    gatherer  // the writing goroutine's
	budget *budget   // for large records; nil: no bound

	mu        sync.Mutex // guards what follows
	queue     queue
	pending   map[uint32]*call // calls that wait for their replies, by transaction id
	free      []*call
	remove    func()    // takes the connection back from the server
	unserved  int       // calls of the peer that were taken and not answered yet
	current   *incoming // the one whose dispatch is under way; its reply need not wake the writer
	goroutine int       // of the two, those that run
	writeErr  error     // why nothing is queued any more, though the connection has not ended
	draining  bool      // that is so because the server ends
	err       error     // why the connection ended
	filled    sync.Cond // the queue has something, or the connection has ended
	room      sync.Cond // reading may go on, or the connection has ended
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
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
		slots:    make(chan struct{}, cfg.MaxCalls),
		pending:  make(map[uint32]*call),
	}
	c.xid.Store(rand.Uint32())
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.in = newReader(flusher{c}, cfg.MaxRecord)
	c.out = newGatherer(conn, cfg.MaxFragment)
	c.filled.L, c.room.L = &c.mu, &c.mu
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
	return newConn(conn, cfg), nil
}

// Serve answers the peer's calls with s, until the connection or s ends. It returns
// at once. Calls that arrive on a connection that nobody serves are answered PROG_UNAVAIL.
func (c *Conn) Serve(s *oncrpc.Server) {
	d := oncrpc.DispatcherOf(s)
	remove, err := d.AddConn(c, c.drain)
	if err != nil {
		c.fail("serve", err)
		return
	}
	c.leave(remove)
	context.AfterFunc(c.ctx, func() { c.leave(nil) })
	c.server.Store(&d)
	c.start()
}

// leave takes the connection back from the server that serves it, and keeps how the next one does
// it.
func (c *Conn) leave(next func()) {
	c.mu.Lock()
	remove := c.remove
	c.remove = next
	c.mu.Unlock()
	if remove != nil {
		remove()
	}
}

func (c *Conn) start() {
	c.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.goroutine = 2
			go c.read()
			go c.write()
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
	return cap(c.slots), len(c.slots), int(c.waiting.Load())
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
	c.err = cmp.Or(c.writeErr, c.opError(op, lost{err}))
	for xid, p := range c.pending {
		delete(c.pending, xid)
		p.err = c.err
		if p.out.state != writing {
			p.out.state = idle
			p.done <- struct{}{}
		}
	}
	lost := c.discardQueue()
	c.filled.Broadcast()
	c.room.Broadcast()
	c.mu.Unlock()

	c.cancel(c.err)
	c.conn.Close()
	c.drop(lost)
	c.mu.Lock()
	c.checkDone()
	c.mu.Unlock()
}

// discardQueue empties the queue and returns the replies that were in it, for drop; c.mu is
// held.
func (c *Conn) discardQueue() (lost *outgoing) {
	for o := c.queue.first; o != nil; {
		next := o.next
		if o.in != nil {
			o.next, lost = lost, o
		}
		o = next
	}
	c.queue = queue{}
	return lost
}

func (c *Conn) drop(lost *outgoing) {
	for lost != nil {
		o := lost
		lost = o.next
		c.answered(o.in)
	}
}

// exit ends one of the two goroutines.
func (c *Conn) exit() {
	c.mu.Lock()
	c.goroutine--
	c.checkDone()
	c.mu.Unlock()
}

// checkDone announces that nothing of the connection is left; c.mu is held.
func (c *Conn) checkDone() {
	if c.err == nil || c.goroutine > 0 || c.unserved > 0 {
		return
	}
	select {
	case <-c.done:
	default:
		close(c.done)
	}
}
