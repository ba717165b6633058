//go:build interop

package tshark

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// counted is a listener or a dialer whose endpoints count posted requests.
type counted struct {
	transport.Listener
	transport.Dialer

	mu     sync.Mutex // guards posted
	posted tally
}

// tally counts messages by their kind, and the bytes in them.
type tally struct {
	Sends, Invalidates, Writes, Reads                 int
	SendBytes, InvalidateBytes, WriteBytes, ReadBytes int
}

func countListener(l transport.Listener) *counted {
	c := new(counted)
	c.Listener = transport.WrapListener(l, c.endpoint)
	return c
}

func countDialer(d transport.Dialer) *counted {
	c := new(counted)
	c.Dialer = transport.WrapDialer(d, c.endpoint)
	return c
}

func (c *counted) endpoint(ep transport.Endpoint) transport.Endpoint {
	return &countedEndpoint{ep, c}
}

type countedEndpoint struct {
	transport.Endpoint
	c *counted
}

// Post counts the requests. It holds the lock, so that they are counted before the peer can see
// them.
func (e *countedEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	t := e.c.posted
	for _, wr := range wrs {
		n := transport.TotalLen(wr.Local)
		switch wr.Op {
		case transport.OpSend:
			t.Sends++
			t.SendBytes += n
		case transport.OpSendInvalidate:
			t.Invalidates++
			t.InvalidateBytes += n
		case transport.OpWrite:
			t.Writes++
			t.WriteBytes += n
		case transport.OpRead:
			t.Reads++
			t.ReadBytes += n
		}
	}
	err := e.Endpoint.Post(wrs...)
	if err == nil {
		e.c.posted = t
	}
	return err
}

// Abandon implements transport.Abandoner, which the provider does.
func (e *countedEndpoint) Abandon(r transport.Region) error {
	return e.Endpoint.(transport.Abandoner).Abandon(r)
}

// total returns the counts of all endpoints.
func (c *counted) total() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posted
}
