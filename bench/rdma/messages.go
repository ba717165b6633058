package rdma

import "time"

// messages is the client of PingPong and Messages.
type messages struct {
	*client
	width int // messages in flight
}

// Run sends n messages.
func (m messages) Run(n int, samples []time.Duration) error {
	return m.exchange(n, m.width, samples)
}

// calls is the client of Calls.
type calls struct{ *client }

// Run sends n messages. The answer to each wakes it to send the next.
func (c calls) Run(n int, samples []time.Duration) error {
	last := time.Now()
	for i := range n {
		c.begin(1, 1, nil)
		if c.sends.poller != nil {
			c.sends.poller.Poll()
		}
		if err := c.wait(c.finished); err != nil {
			return err
		}
		now := time.Now()
		samples[i], last = now.Sub(last), now
	}
	return nil
}
