package recordmark

import (
	"context"
	"net"
	"time"
)

// A connection that is closed with bytes unread takes those it has sent along: TCP answers
// with a reset, and either end then loses what it has not seen yet. So one whose last
// replies matter stops writing first, and goes on reading for a while.

// drain lets what is queued leave and then ends the stream, but reads on until the peer has
// ended its own, for a second at most. Calls of this end fail from now on.
func (c *Conn) drain() {
	c.mu.Lock()
	s := &c.sender
	s.draining = true
	if s.err == nil {
		s.err = c.opError("close", net.ErrClosed)
	}
	s.filled.Broadcast()
	c.mu.Unlock()
	c.endSoon("close", net.ErrClosed)
}

// endSoon ends the connection in drainTime, if it has not ended by then.
func (c *Conn) endSoon(op string, err error) {
	t := time.AfterFunc(drainTime, func() { c.fail(op, err) })
	context.AfterFunc(c.ctx, func() { t.Stop() })
}

// close ends the stream for the peer, when everything has left.
func (s *sender) close() {
	c := s.conn
	if c.Err() != nil {
		return
	}
	w, ok := s.out.conn.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		c.fail("close", net.ErrClosed)
	}
}

// fail ends the connection, when the replies that have arrived are read: those to calls that have
// left, perhaps. Calls that have not fail at once.
func (s *sender) fail(err error) {
	c := s.conn
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	if s.err == nil {
		s.err = c.opError("write", lost{err})
	}
	c.caller.failQueued(s.err)
	lost := s.discard()
	waiting := len(c.caller.pending) > 0
	c.mu.Unlock()
	c.responder.drop(lost)
	if waiting {
		c.endSoon("write", err)
	} else {
		c.fail("write", err)
	}
}
