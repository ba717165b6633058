package gateway

import "sync/atomic"

// Stats counts what a Gateway has done since it began.
type Stats struct {
	Calls      uint64 // passed on, or to be
	Replies    uint64 // of the server, returned to clients
	Dropped    uint64 // calls without a reply, because a connection has ended
	Duplicates uint64 // calls that came again while they were under way, and were not passed on
	// calls answered with SYSTEM_ERR, because they or their replies cannot be carried
	Failed uint64
	Waited uint64 // times that a call waited for memory

	CallBytes, ReplyBytes uint64 // of all of these

	Clients      int    // connections of clients that have made a call
	Dials        uint64 // connections made
	DialFailures uint64 // connections that could not be made
	Lost         uint64 // connections that ended before the client's
}

type counters struct {
	calls, replies, dropped, duplicates, failed, waited, callBytes, replyBytes, dials, dialFailures, lost atomic.Uint64
}

// Stats returns the present values.
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
