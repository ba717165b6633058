package main

import (
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// found returns the target by its port, which is asked for if the URL says so. The port of rpcbind is TCP's as a rule, and RDMA is
// the second attempt; another port is first taken for one of the URL's own transport. low and cfg are for RDMA. The error is a
// *rpcbind.FindError, or the context's.
func (t target) found(ctx context.Context, low rdmaConfig, cfg rpcrdma.Config) (target, error) {
	if t.rpcbind == 0 {
		return t, nil
	}
	at := net.JoinHostPort(t.host, strconv.Itoa(t.rpcbind))
	places := []rpcbind.Place{
		{Name: "TCP port " + at, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			conn, err := recordmark.Dial(ctx, at, recordmark.Config{
				Logger: cfg.Logger, Wrap: traceOf(ctx).Dialed,
			})
			return orNil(conn, err)
		}},
		{Name: "RDMA port " + at, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			d, err := t.dialer(traceOf(ctx), low)
			if err != nil {
				return nil, err
			}
			conn, err := rpcrdma.Dial(ctx, d, at, cfg)
			return orNil(conn, err)
		}},
	}
	if t.overRDMA() && t.rpcbind != rpcbind.Port {
		slices.Reverse(places)
	}
	netid := t.scheme
	if t.overRDMA() {
		netid = rpcbind.NetidRDMA // which does not say by which provider; the user says that it is this
	}
	port, err := rpcbind.FindPort(ctx, nfs3.Program, nfs3.Version, netid, places...)
	if err != nil {
		return t, err
	}
	t.port, t.rpcbind = int(port), 0
	return t, nil
}
