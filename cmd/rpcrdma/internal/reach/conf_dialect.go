package reach

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// NewDialect returns the choice of the dialect of RPC-over-RDMA.
func NewDialect() *cli.Choice[rpcrdma.Dialect] {
	return cli.NewChoice(rpcrdma.RFC8166.String(), cli.Named(rpcrdma.RFC8166.String(), rpcrdma.RFC8166),
		cli.Named(rpcrdma.Draft.String(), rpcrdma.Draft))
}

// AddDialectFlag defines the flag of a client that chooses the dialect.
func AddDialectFlag(f *pflag.FlagSet, dialect *cli.Choice[rpcrdma.Dialect]) {
	f.Var(dialect, "dialect",
		"dialect of RPC-over-RDMA, that of the server: "+dialect.Names()+"; with draft, connections begin with a "+
			"call of CONF_RDMA")
}

// RecvDepth is how many receives an endpoint needs for that many credits. Package rpcrdma uses one
// half for calls and one for replies; in the draft's dialect it uses a third for each of calls,
// replies and RDMA_DONEs, and two more.
func RecvDepth(d rpcrdma.Dialect, credits int) int {
	if d == rpcrdma.Draft {
		return max(iwarp.DefaultDepth, 3*credits+2)
	}
	return max(iwarp.DefaultDepth, 2*credits)
}

// DialOverRDMA connects to a server over RDMA. In the draft's dialect it then calls CONF_RDMA, and
// ignores that a server does not have it.
func DialOverRDMA(ctx context.Context, t Target, low RDMAConfig, cfg rpcrdma.Config,
	cred oncrpc.ClientFlavor) (oncrpc.Transport, error) {
	low.recvDepth = RecvDepth(cfg.Dialect, cfg.Credits)
	d, err := t.Dialer(TraceOf(ctx), low)
	if err != nil {
		return nil, err
	}
	conn, err := rpcrdma.Dial(ctx, d, t.Addr(), cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Dialect == rpcrdma.Draft {
		_, err = confproto.Configure(ctx, conn,
			confproto.Options{MaxCall: cfg.InlineSend, MaxReply: cfg.InlineRecv, Flavor: cred})
		if err != nil && !Answered(err) {
			End(conn)
			return nil, err
		}
	}
	return conn, nil
}

// Answered reports whether an error of a call is an answer of the server.
func Answered(err error) bool {
	return errors.As(err, new(*oncrpc.AcceptError)) || errors.As(err, new(*oncrpc.AuthError))
}
