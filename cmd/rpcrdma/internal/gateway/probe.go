package gateway

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// probe logs if the server cannot be reached, so that a mistyped name is noticed before clients
// hang. The gateway runs on, because the server may come up later.
func (g *running) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	err := g.reach(ctx)
	if err == nil || ctx.Err() == context.Canceled {
		return
	}
	g.log.Warn("the server does not answer; clients' calls wait until it does",
		"server", g.cfg.server.Server(), "err", err)
}

// reach calls NULL on the server, over a connection of its own. The error says why that fails, and
// what to do.
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
