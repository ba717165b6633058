package rpcbind

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// endpoint is where an rpcbind may listen.
type endpoint struct{ network, addr string }

// localEndpoints is where the rpcbind of this machine may listen.
var localEndpoints = []endpoint{
	{"unix", "/run/rpcbind.sock"},
	{"unix", "/var/run/rpcbind.sock"},
	{"tcp", "127.0.0.1:111"},
}

// Local connects to the rpcbind of this machine: over its Unix socket, /run/rpcbind.sock or /var/run/rpcbind.sock, or
// over TCP at 127.0.0.1:111. The context bounds the dialling only. The error names all that was tried.
func Local(ctx context.Context) (*Client, error) { return dial(ctx, localEndpoints) }

// Dial connects to an rpcbind at addr: of network "tcp" with a port, which is Port as a rule, or of "unix". The context
// bounds the dialling only.
func Dial(ctx context.Context, network, addr string) (*Client, error) {
	return dial(ctx, []endpoint{{network, addr}})
}

// dial connects to the first of endpoints that can be reached.
func dial(ctx context.Context, endpoints []endpoint) (*Client, error) {
	c := &Client{dial: func(ctx context.Context) (oncrpc.Transport, error) {
		var errs []error
		for _, e := range endpoints {
			conn, err := new(net.Dialer).DialContext(ctx, e.network, e.addr)
			if err == nil {
				return recordmark.NewConn(conn, recordmark.Config{}), nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}}
	if _, err := c.connection(ctx, nil); err != nil {
		return nil, opError("dial", nil, err)
	}
	return c, nil
}
