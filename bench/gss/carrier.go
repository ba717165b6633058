package gss

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Carrier is the transport of RPC in a scenario.
type Carrier struct {
	name string
	// listen returns the address where it listens, and a function that serves there.
	listen func(ctx context.Context, s paired.Sockets) (addr string, serve serve, err error)
	// dial returns a connection, and a closer for its dialer.
	dial func(ctx context.Context, s paired.Sockets, addr string) (oncrpc.Transport, closer, error)
}

type (
	serve  func(context.Context, *oncrpc.Server) error
	closer func() error
)

// TCP returns RPC over TCP.
func TCP() Carrier {
	return Carrier{
		name: "tcp",
		listen: func(ctx context.Context, s paired.Sockets) (string, serve, error) {
			l, err := (&net.ListenConfig{Control: s.Control}).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return "", nil, err
			}
			return l.Addr().String(), func(ctx context.Context, srv *oncrpc.Server) error {
				return recordmark.Serve(ctx, l, srv, recordmark.Config{})
			}, nil
		},
		dial: func(ctx context.Context, s paired.Sockets, addr string) (oncrpc.Transport, closer, error) {
			below, err := (&net.Dialer{Control: s.Control}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, nil, err
			}
			conn, err := recordmark.NewConn(below, recordmark.Config{})
			return conn, func() error { return nil }, err
		},
	}
}

// RDMA returns RPC over RDMA on provider p.
func RDMA(p rdma.Provider) Carrier {
	return Carrier{
		name: p.Name,
		listen: func(ctx context.Context, s paired.Sockets) (string, serve, error) {
			l, err := p.Listen(ctx, s)
			if err != nil {
				return "", nil, err
			}
			return l.Addr().String(), func(ctx context.Context, srv *oncrpc.Server) error {
				return rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
			}, nil
		},
		dial: func(ctx context.Context, s paired.Sockets, addr string) (oncrpc.Transport, closer, error) {
			d := p.Dialer(s)
			conn, err := rpcrdma.Dial(ctx, d, addr, rpcrdma.Config{})
			if err != nil {
				return nil, nil, errors.Join(err, rdma.CloseDialer(d))
			}
			return conn, func() error { return rdma.CloseDialer(d) }, nil
		},
	}
}
