package redial

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Conn is an oncrpc.Transport that makes connections as needed.
type Conn struct {
	dial   DialFunc
	cfg    Config
	xid    atomic.Uint32 // last used
	ctx    context.Context
	cancel context.CancelFunc // called by Close
	done   chan struct{}
	wg     sync.WaitGroup // all goroutines

	waiting atomic.Int32 // calls that wait for a connection

	// links are the connections in use. The slice is replaced, never changed, so calls read it
	// without a lock.
	links atomic.Pointer[[]*link]

	// serving guards server. It is held while a connection gets server, which runs hooks of the
	// server. It is locked before mu.
	serving sync.Mutex
	server  *oncrpc.Server // nil if none

	mu        sync.Mutex       // guards the fields below, and the replacement of links
	latest    oncrpc.Transport // the last connection made
	made      uint64           // connections so far
	outage    *outage          // not nil while calls wait for a connection
	dialing   bool
	toReplace []*link            // lost connections, oldest first; at most Config.Conns
	stopGrow  context.CancelFunc // stops dialling an additional connection
	growAfter time.Time          // earliest time to try the next additional one
	lostAt    time.Time          // when the last connection ended; zero if there is one
	loss      error              // why the last connection ended
	err       error
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
)

// New dials the first connection. The context limits only that. The error is a *oncrpc.ConfigError,
// before it dials, or an *OpError that wraps the error of dial.
func New(ctx context.Context, dial DialFunc, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := dial(oncrpc.WithDialFrom(ctx, netip.AddrPort{}))
	if err != nil {
		atomic.AddUint64(&cfg.Counters.stats.Failures, 1)
		return nil, &OpError{Op: "dial", Err: err}
	}
	c := &Conn{dial: dial, cfg: cfg, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.xid.Store(rand.Uint32())
	c.links.Store(new([]*link))
	c.mu.Lock()
	c.add(conn, nil)
	c.mu.Unlock()
	return c, nil
}

// nextXID returns a new transaction id other than 0.
func (c *Conn) nextXID() uint32 {
	for {
		if id := c.xid.Add(1); id != 0 {
			return id
		}
	}
}

// add puts a connection into use, which replaces a lost one unless that is nil; c.mu is held.
func (c *Conn) add(conn oncrpc.Transport, lost *link) {
	c.made++
	l := newLink(conn, c.made, c.cfg.Stall)
	if lost != nil {
		l.pause = longer(lost.pause)
	}
	c.latest = conn
	atomic.AddUint64(&c.cfg.Counters.stats.Connected, 1)
	links := append(slices.Clone(*c.links.Load()), l)
	c.links.Store(&links)
	c.wg.Go(func() {
		select {
		case <-conn.Done():
		case <-c.ctx.Done():
			conn.Close()
			<-conn.Done()
		}
		l.stop()
		c.lost(l, conn.Err())
	})
	if c.cfg.Connected != nil {
		c.wg.Go(func() { c.cfg.Connected(c, conn) })
	}
}

// lost removes a connection that has ended with err, or is about to.
func (c *Conn) lost(l *link, err error) {
	l.retired.Store(true)
	if l.stalled.Load() {
		err = ErrStalled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	links := *c.links.Load()
	i := slices.Index(links, l)
	if i < 0 {
		return
	}
	links = slices.Delete(slices.Clone(links), i, i+1)
	c.links.Store(&links)
	c.loss = err
	if time.Since(l.born) >= steady {
		l.pause = 0
	}
	c.toReplace = append(c.toReplace, l)
	c.toReplace = c.toReplace[max(0, len(c.toReplace)-c.cfg.Conns):]
	if c.err == nil {
		atomic.AddUint64(&c.cfg.Counters.stats.Lost, 1)
		if l.stalled.Load() {
			atomic.AddUint64(&c.cfg.Counters.stats.Stalled, 1)
		}
	}
	if len(links) > 0 {
		if time.Since(l.born) < steady { // the peer may accept no more of them
			c.growAfter = time.Now().Add(maxPause)
		}
		c.cfg.Logger.Debug("connection lost, others remain", "peer", l.conn.RemoteAddr(), "err", err)
		return
	}
	c.lostAt = time.Now()
	if l.calls.Load() > 0 {
		c.cfg.Logger.Warn("connection lost", "peer", l.conn.RemoteAddr(), "err", err)
	} else { // servers end idle connections
		c.cfg.Logger.Info("connection ended", "peer", l.conn.RemoteAddr(), "err", err)
	}
}

// lastLoss returns why the last connection ended.
func (c *Conn) lastLoss() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loss
}

// Serve answers the peer's calls with s on all current and future connections. The hooks of s,
// ServerConfig.ConnBegan and ConnEnded, may use the Conn, but must not call Serve.
func (c *Conn) Serve(s *oncrpc.Server) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.server = s
	for _, l := range *c.links.Load() {
		l.conn.Serve(s)
	}
}

// Connect returns the connection that a call would use now. If there is none, it dials and waits as
// a call does, with the same errors. Calls made directly over that connection are not repeated, and
// do not count for Config.Stall.
func (c *Conn) Connect(ctx context.Context) (oncrpc.Transport, error) {
	l, err := c.take(ctx, nil, new(time.Time))
	if err != nil {
		return nil, err
	}
	l.leave()
	return l.conn, nil
}

// Credits returns the sums over all connections in use. It implements oncrpc.CreditReporter. A
// connection that is no CreditReporter counts as having one free credit. Calls that wait for a
// connection count as waiting.
func (c *Conn) Credits() (grant, inUse, waiting int) {
	waiting = int(c.waiting.Load())
	for _, l := range *c.links.Load() {
		if l.credits == nil {
			n := int(l.calls.Load())
			grant, inUse = grant+n+1, inUse+n
			continue
		}
		g, u, w := l.credits.Credits()
		grant, inUse, waiting = grant+g, inUse+u, waiting+w
	}
	return grant, inUse, waiting
}

// LocalAddr returns the local address of the latest connection.
func (c *Conn) LocalAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest.LocalAddr()
}

// RemoteAddr returns the peer's address of the latest connection.
func (c *Conn) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest.RemoteAddr()
}
