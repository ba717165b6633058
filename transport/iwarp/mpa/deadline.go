package mpa

import (
	"errors"
	"net"
	"os"
	"time"
)

// Interrupt ends Receive and Wait. Over TLS a Write that is under way has as long as an orderly
// Close to come to its end: one that fails is the last, and the peer would not learn why the
// connection ends.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interrupted {
		return
	}
	c.interrupted = true
	defer c.in.sys.wake()
	if _, ok := overTLS(c.conn); ok {
		c.conn.SetReadDeadline(past)
		c.conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		return
	}
	c.conn.SetDeadline(past)
}

// overTLS returns the connection below one of TLS, or of what is like it.
func overTLS(conn net.Conn) (below net.Conn, ok bool) {
	tls, ok := conn.(interface{ NetConn() net.Conn })
	if !ok {
		return nil, false
	}
	return tls.NetConn(), true
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// setReadDeadline and setWriteDeadline do nothing after Interrupt.
func (c *Conn) setReadDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interrupted {
		c.conn.SetReadDeadline(t)
	}
}

func (c *Conn) setWriteDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interrupted {
		c.conn.SetWriteDeadline(t)
	}
}

// isInterrupted says of a deadline that has passed whether it was an interruption.
func (c *Conn) isInterrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.interrupted
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
