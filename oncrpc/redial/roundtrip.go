package redial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// RoundTrip makes a call, over several connections if necessary. Its error is an *OpError or that
// of a connection.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if x.XID != 0 {
		return c.roundTrip(ctx, x)
	}
	for {
		x.XID = c.nextXID()
		err := c.roundTrip(ctx, x)
		x.XID = 0 // x may be used for another call
		if err == nil || x.Repeated || !errors.Is(err, oncrpc.ErrXIDInUse) {
			return err
		}
		// An abandoned call of four billion calls ago uses the XID.
	}
}

func (c *Conn) roundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	var since time.Time // when the call first had no connection
	var loss error      // why the last connection ended over which it may have left
	sent := x.Repeated  // when a flavour made it wait between two transmissions
	if sent {
		loss = c.lastLoss()
	}
	for {
		before, _ := x.LeftOver.(*link)
		l, err := c.take(ctx, before, &since)
		if err != nil {
			return err
		}
		if sent {
			x.Repeated = true
			atomic.AddUint64(&c.cfg.Counters.stats.Repeated, 1)
		}
		ended, err := c.over(ctx, l, x)
		unsent := errors.Is(err, oncrpc.ErrNotSent)
		if !ended && unsent && sent { // unsent is true of this connection alone
			return &OpError{Op: "call", Peer: l.conn.RemoteAddr(), Err: cmp.Or(ctx.Err(), loss)}
		}
		if !ended {
			return err
		}
		if !unsent {
			if !x.MayRepeat || c.cfg.Wait == 0 {
				return err
			}
			sent, loss = true, err
			if x.Once {
				x.LeftOver = l
			}
		}
		if e := ctx.Err(); e != nil {
			return &OpError{Op: "call", Peer: l.conn.RemoteAddr(), Err: e}
		}
		if c.cfg.Wait == 0 {
			continue // which dials once
		}
		if tried, over := c.patience(&since); over {
			return &OpError{Op: "call", Peer: l.conn.RemoteAddr(), TriedFor: tried, Err: cmp.Or(loss, err)}
		}
	}
}

// over makes a call over the connection where it was entered. It reports whether the connection
// ended without a reply.
func (c *Conn) over(ctx context.Context, l *link, x *oncrpc.Exchange) (ended bool, err error) {
	defer l.leave()
	err = l.conn.RoundTrip(ctx, x)
	switch {
	case err == nil, errors.Is(err, oncrpc.ErrAnswered):
		l.replies.Add(1)
	case l.ended(err):
		c.lost(l, err)
		if l.stalled.Load() {
			why := ErrStalled
			if errors.Is(err, oncrpc.ErrNotSent) {
				why = fmt.Errorf("%w: %w", oncrpc.ErrNotSent, ErrStalled)
			}
			err = &OpError{Op: "call", Peer: l.conn.RemoteAddr(), Err: why}
		}
		return true, err
	case ctx.Err() != nil:
		l.giveUp()
	}
	return false, err
}

// patience reports whether a call, each time that it has no connection, has been without a lasting
// one for too long.
func (c *Conn) patience(since *time.Time) (tried time.Duration, over bool) {
	if since.IsZero() {
		*since = time.Now()
		return 0, false
	}
	if c.cfg.Wait == 0 {
		return 0, true
	}
	tried = time.Since(*since)
	return tried, c.cfg.Wait >= 0 && tried >= c.cfg.Wait
}

// take enters a call on a connection that follows before, and returns it. It waits for one if there
// is none.
func (c *Conn) take(ctx context.Context, before *link, since *time.Time) (*link, error) {
	for {
		if l := c.pick(before); l != nil {
			return l, nil
		}
		o, err := c.await(before)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		if tried, over := c.patience(since); over {
			return nil, c.tooLate(tried)
		}
		if err := c.wait(ctx, o, *since); err != nil {
			return nil, err
		}
	}
}

// tooLate returns the error of a call that has been without a lasting connection for too long.
func (c *Conn) tooLate(tried time.Duration) error {
	return &OpError{Op: "call", Peer: c.RemoteAddr(), TriedFor: tried, Err: c.lastLoss()}
}

// wait waits for the end of an outage, for a call that has had no lasting connection since a time.
func (c *Conn) wait(ctx context.Context, o *outage, since time.Time) error {
	c.waiting.Add(1)
	atomic.AddUint64(&c.cfg.Counters.stats.Waited, 1)
	defer c.waiting.Add(-1)
	var late <-chan time.Time
	if c.cfg.Wait > 0 && o.began.Sub(since) > steady { // otherwise the outage ends in time
		late = time.After(time.Until(since.Add(c.cfg.Wait)))
	}
	select {
	case <-o.done:
		return o.err
	case <-late:
		return c.tooLate(c.cfg.Wait)
	case <-ctx.Done():
		return &OpError{Op: "call", Peer: c.RemoteAddr(), Err: ctx.Err()}
	}
}

// pick enters a call on the connection with the fewest calls, of those that follow before, and
// returns it, or nil if there is none. It picks a starved connection only if all are starved, and
// then the one where the fewest calls wait.
func (c *Conn) pick(before *link) *link {
	var best *link
	var fewest, most int // calls of best, and how many more it may have
	links := *c.links.Load()
	for _, l := range links {
		select {
		case <-l.conn.Done():
			c.lost(l, l.conn.Err())
			continue
		default:
		}
		if !l.follows(before) {
			continue
		}
		n, left := l.load()
		better := n < fewest
		if left <= 0 || most <= 0 {
			better = left > most
		}
		if best == nil || better {
			best, fewest, most = l, n, left
		}
	}
	if best == nil {
		return nil
	}
	if (best.enter() > 1 || fewest > 0) && len(links) < c.cfg.Conns {
		c.grow()
	}
	return best
}
