package serve

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// lookupCredits is how many calls a client may have under way on a connection for look-ups. Most
// make one.
const lookupCredits = 4

// serveLookups serves a port for look-ups until the server is shut down.
func (s *server) serveLookups(ctx context.Context, l transport.Listener) error {
	return rpcrdma.Serve(ctx, l, s.lookups, rpcrdma.Config{
		Logger: s.log, Credits: lookupCredits, Dialect: s.cfg.dialect.Value, Counters: s.watched.RDMA(),
	})
}
