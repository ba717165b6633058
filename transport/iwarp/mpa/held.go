package mpa

import "time"

// Hold waits until the segment that the sink asked to keep may be taken, or the peer has gone. The
// peer is not to blame for what stays incomplete meanwhile.
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

// Resume ends Hold, or has the next one return at once.
func (c *Conn) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed = true
	if c.holding && !c.interrupted {
		c.conn.SetReadDeadline(past)
		c.in.sys.wake()
	}
}
