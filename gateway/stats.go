package gateway

import "github.com/rpcrdma/go-rpcrdma/internal/stats"

// Stats counts events since the gateway was made.
type Stats struct {
	Calls      uint64 // passed on, or about to be
	Replies    uint64 // from the server, returned to clients
	Dropped    uint64 // calls without a reply, because a connection ended
	Duplicates uint64 // copies of calls under way, which are not passed on
	// calls answered with SYSTEM_ERR, because the call or its reply cannot be carried
	Failed uint64
	Waited uint64 // how often a call waited for memory

	CallBytes, ReplyBytes uint64 // bytes of the calls and the replies

	Clients      int    // client connections that have made a call
	Dials        uint64 // connections to servers
	DialFailures uint64 // attempts to connect that failed
	Lost         uint64 // connections to servers that ended before the client's
}

// Stats returns the current values.
func (g *Gateway) Stats() Stats {
	now := stats.Load(&g.stats)
	g.mu.Lock()
	defer g.mu.Unlock()
	now.Clients = len(g.sessions)
	return now
}
