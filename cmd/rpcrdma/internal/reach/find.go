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

// Found returns the target by its port, which is asked for if the URL says so. The port of rpcbind
// is TCP's as a rule, and RDMA is the second attempt; another port is first taken for one of the
// URL's own transport. low and cfg are for RDMA. The error is a *rpcbind.FindError, or the
// context's.
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
		// which does not say by which provider; the user says that it is this
		netid = rpcbind.NetidRDMA
	}
	port, err := rpcbind.FindPort(ctx, nfs3.Program, nfs3.Version, netid, places...)
	if err != nil {
		return t, err
	}
	t.Port, t.Rpcbind = int(port), 0
	return t, nil
}
