package roce

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Listener accepts RoCE peers.
type Listener struct{ addr Addr }

var _ transport.Listener = (*Listener)(nil)

// Listen listens at "host:port", where the port is that of a service: 0 makes it any. Without a host
// it listens at all addresses that this host has now.
func Listen(ctx context.Context, addr string, cfg Config) (*Listener, error) {
	return nil, opError("listen", nil, errors.ErrUnsupported)
}

// Addr returns an Addr.
func (l *Listener) Addr() net.Addr { return l.addr }

// MaxPrivateReply is 196 bytes for Accept and 148 for Reject (IBTA sections 12.6.8 and 12.6.7).
func (l *Listener) MaxPrivateReply() (accept, reject int) { return 196, 148 }

// Accept waits for a peer that asks for a connection.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	return nil, errors.ErrUnsupported
}

// Close ends listening. Connections stay, except for those that Accept has not returned.
func (l *Listener) Close() error { return nil }
