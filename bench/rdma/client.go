package rdma

import (
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// client is the dialing end, which exchanges messages.
type client struct {
	*end
	dialer   transport.Dialer // not shared
	remote   transport.Remote // the server's memory
	finished chan struct{}    // closed at the end of a run of messages

	mu        sync.Mutex // guards what follows: the run
	n         int
	sent, got int
	samples   []time.Duration // empty if not wanted
	last      time.Time       // when the previous answer came, if there are samples
}

// newClient starts ep and asks the server for the window over its memory.
func newClient(ep transport.Endpoint) (*client, error) {
	e, err := newEnd(ep)
	if err != nil {
		return nil, err
	}
	c := &client{end: e, finished: make(chan struct{}, 1)}
	ep.Start(c)
	if err := c.exchange(1, 1, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// exchange sends n messages, at most width at a time, and waits for the answers. A sample is the
// time from one answer to the next.
func (c *client) exchange(n, width int, samples []time.Duration) error {
	c.begin(n, width, samples)
	return c.wait(c.finished)
}

func (c *client) begin(n, width int, samples []time.Duration) {
	first := min(n, width)
	c.mu.Lock()
	c.n, c.sent, c.got, c.samples = n, first, 0, samples
	if len(samples) > 0 {
		c.last = time.Now()
	}
	c.mu.Unlock()
	c.sends.post(first)
}

// wait waits for the end of a run.
func (c *client) wait(finished <-chan struct{}) error {
	select {
	case <-finished:
		return nil
	case err := <-c.failed:
		return err
	case <-c.ep.Done():
		return c.ep.Err()
	}
}

// Received sends the next message for each answer, until all are sent.
func (c *client) Received(batch []transport.Message) {
	c.mu.Lock()
	if c.remote == (transport.Remote{}) {
		c.remote = parseWindow(batch[0].Receive.Local[0].Bytes)
	}
	if len(c.samples) > 0 {
		now := time.Now()
		c.samples[c.got], c.last = now.Sub(c.last), now
	}
	c.got += len(batch)
	next := min(len(batch), c.n-c.sent)
	c.sent += next
	over := c.got == c.n
	c.mu.Unlock()

	c.again(batch)
	if next > 0 {
		c.sends.post(next)
	}
	if over {
		c.finished <- struct{}{}
	}
}

// Close closes the connection and its dialer.
func (c *client) Close() error { return errors.Join(c.close(), CloseDialer(c.dialer)) }
