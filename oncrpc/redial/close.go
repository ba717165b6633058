package redial

import "net"

// Close ends all connections and attempts to dial. Pending and waiting calls fail with an error
// that wraps net.ErrClosed. Close does not wait; use Done for that.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil
	}
	c.err = &OpError{Op: "close", Peer: c.latest.RemoteAddr(), Err: net.ErrClosed}
	c.links.Store(new([]*link))
	c.endOutage(c.closed())
	c.mu.Unlock()
	c.cancel()
	go func() {
		c.wg.Wait()
		close(c.done)
	}()
	return nil
}

// closed returns the error of a call after Close; c.mu is held.
func (c *Conn) closed() error {
	return &OpError{Op: "call", Peer: c.latest.RemoteAddr(), Err: net.ErrClosed}
}

// Done returns a channel that is closed after Close, when the last connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil before Close, and then an *OpError that wraps net.ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
