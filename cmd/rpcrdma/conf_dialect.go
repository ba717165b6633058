package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// newDialect returns the choice of whose rules of RPC-over-RDMA bind.
func newDialect() *choice[rpcrdma.Dialect] {
	return newChoice(rpcrdma.RFC8166.String(), named(rpcrdma.RFC8166.String(), rpcrdma.RFC8166), named(rpcrdma.Draft.String(), rpcrdma.Draft))
}

// addDialectFlag defines the flag of a client that chooses the dialect.
func addDialectFlag(f *pflag.FlagSet, dialect *choice[rpcrdma.Dialect]) {
	f.Var(dialect, "dialect", "rules of RPC-over-RDMA, the server's: "+dialect.names()+"; in draft, connections begin with a call of CONF_RDMA")
}

// recvDepth is how many receives there must be room for, so that rpcrdma can use that many credits: it leaves a half to replies, and in the
// draft's dialect a third to each of calls, replies and RDMA_DONEs, and two above that.
func recvDepth(d rpcrdma.Dialect, credits int) int {
	if d == rpcrdma.Draft {
		return max(iwarp.DefaultDepth, 3*credits+2)
	}
	return max(iwarp.DefaultDepth, 2*credits)
}

// dialOverRDMA connects to a server over RDMA. In the draft's dialect, the two then agree by CONF_RDMA on what the connection can do, if the
// server has that.
func dialOverRDMA(ctx context.Context, t target, low rdmaConfig, cfg rpcrdma.Config,
	cred oncrpc.ClientFlavor) (oncrpc.Transport, error) {
	low.recvDepth = recvDepth(cfg.Dialect, cfg.Credits)
	d, err := t.dialer(traceOf(ctx), low)
	if err != nil {
		return nil, err
	}
	conn, err := rpcrdma.Dial(ctx, d, t.addr(), cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Dialect == rpcrdma.Draft {
		_, err = confproto.Configure(ctx, conn, confproto.Options{MaxCall: cfg.InlineSend, MaxReply: cfg.InlineRecv, Flavor: cred})
		if err != nil && !answered(err) {
			end(conn)
			return nil, err
		}
	}
	return conn, nil
}

// answered reports whether an error of a call is what the server has answered.
func answered(err error) bool {
	return errors.As(err, new(*oncrpc.AcceptError)) || errors.As(err, new(*oncrpc.AuthError))
}
