package mpa

import "time"

// Hold waits until Resume, or until the peer has gone. Time spent here does not count against the
// peer.
func (c *Conn) Hold() error {
	c.mu.Lock()
	if c.resumed || c.interrupted {
		c.resumed = false
		c.mu.Unlock()
		return nil
	}
	c.holding = true
	c.conn.SetReadDeadline(time.Time{})
	c.mu.Unlock()
	err := c.in.sys.hold()
	c.mu.Lock()
	c.holding, c.resumed = false, false
	c.mu.Unlock()
	c.in.disarm()
	if err != nil && !isTimeout(err) {
		return err
	}
	return nil
}

// Resume ends Hold. If nobody holds, the next Hold returns at once.
func (c *Conn) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed = true
	if c.holding && !c.interrupted {
		c.conn.SetReadDeadline(past)
		c.in.sys.wake()
	}
}
