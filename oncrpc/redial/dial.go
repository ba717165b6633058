package redial

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// grow dials an additional connection in the background, unless dialling is under way or failed a
// moment ago.
func (c *Conn) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.dialing || len(*c.links.Load()) >= c.cfg.Conns || time.Now().Before(c.growAfter) {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.dialing, c.stopGrow = true, cancel
	c.wg.Go(func() {
		defer cancel()
		conn, err := c.attempt(ctx, netip.AddrPort{})
		if o := c.connected(nil, conn, err); o != nil {
			c.connect(o)
		}
	})
}

// connect dials until there is a connection or the outage is over.
func (c *Conn) connect(o *outage) {
	for o != nil {
		var conn oncrpc.Transport
		err := o.sleep()
		if err == nil {
			conn, err = c.attempt(o.ctx, o.from)
		}
		o = c.connected(o, conn, err)
	}
}

// attempt dials once, from a given address or else from that of a lost connection, if there is one.
func (c *Conn) attempt(ctx context.Context, from netip.AddrPort) (oncrpc.Transport, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.dial(c.leaving(ctx, from))
	if err != nil && context.Cause(ctx) != context.Canceled {
		c.cfg.Counters.failures.Add(1)
	}
	return conn, err
}

// leaving chooses the address to dial from, if there is one, and waits until the lost connection
// has left it.
func (c *Conn) leaving(ctx context.Context, from netip.AddrPort) context.Context {
	c.mu.Lock()
	i := slices.IndexFunc(c.left, func(l *link) bool { return !from.IsValid() || l.from == from })
	c.again = nil
	if i >= 0 {
		c.again = c.left[i]
	}
	l := c.again
	c.mu.Unlock()
	if l == nil {
		return oncrpc.WithDialFrom(ctx, netip.AddrPort{})
	}
	late := time.NewTimer(leaveTime)
	defer late.Stop()
	select {
	case <-l.conn.Done():
	case <-late.C:
	case <-ctx.Done():
	}
	return oncrpc.WithDialFrom(ctx, l.from)
}

// connected handles the result of an attempt; o is nil if it was for an additional connection. It
// returns the outage for which to dial next, or nil if dialling ends.
func (c *Conn) connected(o *outage, conn oncrpc.Transport, err error) (next *outage) {
	c.serving.Lock() // until Serve finds the connection among those in use
	defer c.serving.Unlock()
	if err == nil && c.server != nil {
		conn.Serve(c.server)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next = c.settle(o, conn, err)
	c.dialing = next != nil
	return next
}

// settle does the work of connected; c.mu is held.
func (c *Conn) settle(o *outage, conn oncrpc.Transport, err error) (next *outage) {
	switch {
	case c.err != nil:
		if err == nil {
			conn.Close()
			c.wg.Go(func() { <-conn.Done() })
		}
	case err == nil:
		if !c.lostAt.IsZero() {
			c.cfg.Logger.Info("connection is back", "peer", conn.RemoteAddr(),
				"after", time.Since(c.lostAt).Round(time.Millisecond))
			c.lostAt = time.Time{}
		}
		c.add(conn, c.again)
		// from its address, or because that was taken
		c.left = slices.DeleteFunc(c.left, func(l *link) bool { return l == c.again })
		c.endOutage(nil)
	case o == nil && c.outage != nil: // an outage has begun meanwhile
		return c.outage
	case o == nil:
		c.growAfter = time.Now().Add(maxPause)
	default:
		o.failed(err)
		if c.cfg.Wait != 0 && o.ctx.Err() == nil {
			return o
		}
		peer := c.latest.RemoteAddr()
		c.endOutage(&OpError{Op: "redial", Peer: peer, TriedFor: c.tried(o), Err: o.last})
	}
	return nil
}

// tried returns how long dialling was tried; 0 means once.
func (c *Conn) tried(o *outage) time.Duration {
	if c.cfg.Wait == 0 {
		return 0
	}
	return time.Since(o.began)
}
