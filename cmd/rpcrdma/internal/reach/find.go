package reach

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

// Found returns the target with its port. If the URL has ?rpcbind, it asks rpcbind for the port: at
// port 111 over TCP first, then over RDMA; at another port over the URL's own transport first. low
// and cfg are for RDMA. The error is a *rpcbind.FindError, or the context's.
func (t Target) Found(ctx context.Context, low RDMAConfig, cfg rpcrdma.Config) (Target, error) {
	if t.Rpcbind == 0 {
		return t, nil
	}
	at := net.JoinHostPort(t.Host, strconv.Itoa(t.Rpcbind))
	places := []rpcbind.Place{
		{Name: "TCP port " + at, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			conn, err := recordmark.Dial(ctx, at, recordmark.Config{
				Logger: cfg.Logger, Wrap: TraceOf(ctx).Dialed,
			})
			return OrNil(conn, err)
		}},
		{Name: "RDMA port " + at, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			d, err := t.Dialer(TraceOf(ctx), low)
			if err != nil {
				return nil, err
			}
			conn, err := rpcrdma.Dial(ctx, d, at, cfg)
			return OrNil(conn, err)
		}},
	}
	if t.OverRDMA() && t.Rpcbind != rpcbind.Port {
		slices.Reverse(places)
	}
	netid := t.Scheme
	if t.OverRDMA() {
		// rpcbind does not name the provider; the scheme of the URL does
		netid = rpcbind.NetidRDMA
	}
	port, err := rpcbind.FindPort(ctx, nfs3.Program, nfs3.Version, netid, places...)
	if err != nil {
		return t, err
	}
	t.Port, t.Rpcbind = int(port), 0
	return t, nil
}
