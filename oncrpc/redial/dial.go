package redial

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
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
	lost := c.lostLike(nil)
	c.wg.Go(func() {
		defer cancel()
		conn, err := c.attempt(ctx, lost)
		if o := c.connected(nil, conn, lost, err); o != nil {
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
			conn, err = c.attempt(o.ctx, o.lost)
		}
		o = c.connected(o, conn, o.lost, err)
	}
}

// lostLike returns the lost connection to replace next, or nil. Unless before is nil, it is one
// whose replacement may follow that. The last one lost comes first, so that the pauses grow if each
// replacement soon ends; c.mu is held.
func (c *Conn) lostLike(before *link) *link {
	for _, l := range slices.Backward(c.toReplace) {
		if before == nil || l.from == before.from {
			return l
		}
	}
	return nil
}

// attempt dials once, from the address of a lost connection if it has one.
func (c *Conn) attempt(ctx context.Context, lost *link) (oncrpc.Transport, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.dial(leaving(ctx, lost))
	if err != nil && context.Cause(ctx) != context.Canceled {
		atomic.AddUint64(&c.cfg.Counters.stats.Failures, 1)
	}
	return conn, err
}

// leaving returns a context to dial from the address of a lost connection. It waits until that has
// left the address.
func leaving(ctx context.Context, lost *link) context.Context {
	if lost == nil || !lost.from.IsValid() {
		return oncrpc.WithDialFrom(ctx, netip.AddrPort{})
	}
	late := time.NewTimer(leaveTime)
	defer late.Stop()
	select {
	case <-lost.conn.Done():
	case <-late.C:
	case <-ctx.Done():
	}
	return oncrpc.WithDialFrom(ctx, lost.from)
}

// connected handles the result of an attempt; o is nil if it was for an additional connection. It
// returns the outage for which to dial next, or nil if dialling ends.
func (c *Conn) connected(o *outage, conn oncrpc.Transport, lost *link, err error) (next *outage) {
	c.serving.Lock() // until Serve finds the connection among those in use
	defer c.serving.Unlock()
	if err == nil && c.server != nil {
		conn.Serve(c.server)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next = c.settle(o, conn, lost, err)
	c.dialing = next != nil
	return next
}

// settle does the work of connected; c.mu is held.
func (c *Conn) settle(o *outage, conn oncrpc.Transport, lost *link, err error) (next *outage) {
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
		c.add(conn, lost)
		// from its address, or because that was taken
		c.toReplace = slices.DeleteFunc(c.toReplace, func(l *link) bool { return l == lost })
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
