package recordmark

import (
	"context"
	"net"
	"time"
)

// Closing a TCP connection while bytes are unread resets it, and then either end loses what it has
// not read. So when its last replies matter, a connection first stops writing and keeps reading for
// a while.

// drain sends what is queued and ends the stream. It reads on until the peer ends its stream, for a
// second at most. Calls of this end fail from now on.
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

// endSoon ends the connection after drainTime, if it has not ended by then.
func (c *Conn) endSoon(op string, err error) {
	t := time.AfterFunc(drainTime, func() { c.fail(op, err) })
	context.AfterFunc(c.ctx, func() { t.Stop() })
}

// close ends the stream for the peer when everything has been sent.
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

// fail ends the connection after a failed write, once the replies that have arrived are read. They
// may belong to calls already sent. Calls not sent yet fail at once.
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
