package iwarp

import "sync/atomic"

// Counters counts what happens on connections. It may be read at any time.
type Counters struct {
	Connections        atomic.Uint64 // that were set up
	HandshakeFailures  atomic.Uint64 // attempts, of either side: bad frames, timeouts, lost connections
	Rejected           atomic.Uint64 // requests that were refused, here or by the peer
	Dropped            atomic.Uint64 // connections that had to make room for others during the startup
	TerminatesSent     atomic.Uint64 // or tried to
	TerminatesReceived atomic.Uint64
	CRCErrors          atomic.Uint64
	MarkerErrors       atomic.Uint64 // connections that ended because a marker did not fit
	Stalls             atomic.Uint64 // connections that ended because the peer had stalled
}
