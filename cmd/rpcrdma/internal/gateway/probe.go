package gateway

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// probe looks whether the server is there, and logs it if not: whoever has mistyped its name shall
// not have to find out why clients hang. It may also just not be there yet, so the gateway runs on.
func (g *running) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	err := g.reach(ctx)
	if err == nil || ctx.Err() == context.Canceled {
		return
	}
	g.log.Warn("the server does not answer; calls wait until it does",
		"server", g.cfg.server.Server(), "err", err)
}

// reach makes a call of nothing to the server, over a connection of its own, and says what is in
// the way of it.
func (g *running) reach(ctx context.Context) error {
	at, conn, err := g.connect(ctx)
	if err == nil {
		defer reach.End(conn)
		err = nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx)
	}
	if err == nil {
		return nil
	}
	return words.Explainer{Asked: g.cfg.server.Rpcbind != 0, RDMAOnly: true}.Explain(at, err)
}
