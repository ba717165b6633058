package loopback

import (
	"context"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Listener accepts connections for one name.
type Listener struct {
	fabric *Fabric
	addr   Addr
	cfg    Config

	// backlog passes requests from Dial to Accept directly. It has no buffer: calls of Dial wait as
	// senders, so one that gives up leaves nothing behind.
	backlog chan *request
	closed  chan struct{}
	close   sync.Once
}

var _ transport.Listener = (*Listener)(nil)

// Accept waits for the next request for a connection.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	r, err := transport.AwaitRequest(ctx, l.backlog, l.closed)
	if err != nil {
		return nil, opError("accept", l.addr, err)
	}
	return r, nil
}

// MaxPrivateReply returns 512 for both.
func (l *Listener) MaxPrivateReply() (accept, reject int) { return maxPrivateData, maxPrivateData }

// Addr returns the name.
func (l *Listener) Addr() net.Addr { return l.addr }

// Close ends listening and frees the name. Requests that Accept has not returned yet are refused.
// Other requests and connections stay.
func (l *Listener) Close() error {
	err := opError("close", l.addr, net.ErrClosed)
	l.close.Do(func() {
		l.fabric.forget(l)
		close(l.closed)
		err = nil
	})
	return err
}
