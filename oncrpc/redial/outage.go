package redial

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// outage is a period in which calls wait for a connection.
type outage struct {
	began  time.Time
	ctx    context.Context // ends when calls no longer wait
	cancel context.CancelFunc
	lost   *link         // the connection to replace
	pause  time.Duration // before the next attempt
	last   error         // error of the last attempt
	done   chan struct{} // closed when there is a connection, or err says why there is none
	err    error
}

// await returns the outage to wait for, beginning one if necessary. It returns nil if there is a
// connection that follows before. It fails if there cannot be one.
func (c *Conn) await(before *link) (*outage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.closed()
	}
	if slices.ContainsFunc(*c.links.Load(), func(l *link) bool { return l.follows(before) }) {
		return nil, nil
	}
	lost := c.lostLike(before)
	if lost == nil { // not if before is nil
		return nil, &OpError{Op: "call", Peer: c.latest.RemoteAddr(), Err: ErrPortLost}
	}
	if c.outage != nil {
		return c.outage, nil
	}
	o := &outage{began: time.Now(), lost: lost, done: make(chan struct{})}
	if c.cfg.Wait > 0 {
		o.ctx, o.cancel = context.WithTimeout(c.ctx, c.cfg.Wait)
	} else {
		o.ctx, o.cancel = context.WithCancel(c.ctx)
	}
	switch {
	case c.cfg.Wait > 0:
		o.pause = min(lost.pause, c.cfg.Wait/2)
	case c.cfg.Wait < 0:
		o.pause = lost.pause
	}
	c.outage = o
	atomic.AddUint64(&c.cfg.Counters.stats.Outages, 1)
	if c.dialing {
		c.stopGrow() // the dialling goroutine goes on with o
	} else {
		c.dialing = true
		c.wg.Go(func() { c.connect(o) })
	}
	return o, nil
}

// endOutage wakes the waiting calls, if any; c.mu is held.
func (c *Conn) endOutage(err error) {
	if o := c.outage; o != nil {
		c.outage = nil
		o.err = err
		o.cancel()
		close(o.done)
	}
}

// failed notes the error of an attempt. If the outage's end cut the attempt short, its error says
// less than that of an earlier attempt, which is kept.
func (o *outage) failed(err error) {
	if o.last == nil || o.ctx.Err() == nil {
		o.last = err
	}
	o.pause = longer(o.pause)
}

// sleep waits until the next attempt or the end of the outage.
func (o *outage) sleep() error {
	if o.pause == 0 {
		return nil
	}
	t := time.NewTimer(o.pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}
