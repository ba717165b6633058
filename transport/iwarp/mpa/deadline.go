package mpa

import (
	"errors"
	"net"
	"os"
	"time"
)

// Interrupt ends Receive, Hold and Wait. Over TLS a pending Write first gets as long as an orderly
// Close to finish: a Write that fails is the last one, and the peer would not learn why the
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

// overTLS returns the connection below a TLS connection, or below one that has NetConn too.
func overTLS(conn net.Conn) (below net.Conn, ok bool) {
	tls, ok := conn.(interface{ NetConn() net.Conn })
	if !ok {
		return nil, false
	}
	return tls.NetConn(), true
}

// past is a deadline in the past.
var past = time.Unix(1, 0)

// setReadDeadline and setWriteDeadline do nothing after Interrupt, which must stay in force.
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

// isInterrupted tells Interrupt from a deadline that has merely passed.
func (c *Conn) isInterrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.interrupted
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
