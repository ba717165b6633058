package main

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// probe looks whether the server is there, and logs it if not: whoever has mistyped its name shall
// not have to find out why clients hang. It may also just not be there yet, so the gateway runs on.
func (g *gatewayRun) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, gatewayDialTime)
	defer cancel()
	err := g.reach(ctx)
	if err == nil || ctx.Err() == context.Canceled {
		return
	}
	g.log.Warn("the server does not answer; calls wait until it does",
		"server", g.cfg.server.server(), "err", err)
}

// reach makes a call of nothing to the server, over a connection of its own, and says what is in the
// way of it.
func (g *gatewayRun) reach(ctx context.Context) error {
	at, conn, err := g.connect(ctx)
	if err == nil {
		defer end(conn)
		err = nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx)
	}
	if err == nil {
		return nil
	}
	return explainer{asked: g.cfg.server.rpcbind != 0, rdmaOnly: true}.explain(at, err)
}
