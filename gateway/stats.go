package gateway

import "sync/atomic"

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

type counters struct {
	calls, replies, dropped, duplicates, failed, waited, callBytes, replyBytes,
	dials, dialFailures, lost atomic.Uint64
}

// Stats returns the current values.
func (g *Gateway) Stats() Stats {
	g.mu.Lock()
	n := len(g.sessions)
	g.mu.Unlock()
	c := &g.stats
	return Stats{
		Calls:        c.calls.Load(),
		Replies:      c.replies.Load(),
		Dropped:      c.dropped.Load(),
		Duplicates:   c.duplicates.Load(),
		Failed:       c.failed.Load(),
		Waited:       c.waited.Load(),
		CallBytes:    c.callBytes.Load(),
		ReplyBytes:   c.replyBytes.Load(),
		Clients:      n,
		Dials:        c.dials.Load(),
		DialFailures: c.dialFailures.Load(),
		Lost:         c.lost.Load(),
	}
}
