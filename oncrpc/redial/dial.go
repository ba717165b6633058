package redial

import (
	"context"
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
		conn, err := c.attempt(ctx)
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
			conn, err = c.attempt(o.ctx)
		}
		o = c.connected(o, conn, err)
	}
}

func (c *Conn) attempt(ctx context.Context) (oncrpc.Transport, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil && context.Cause(ctx) != context.Canceled {
		c.cfg.Counters.failures.Add(1)
	}
	return conn, err
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
		c.add(conn)
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
