package mpa

import (
	"errors"
	"os"
	"time"
)

// Interrupt ends Receive and Wait.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
	c.conn.SetDeadline(past)
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
