package iwarp

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Counters counts what happens on connections. It may be read at any time.
type Counters struct {
	Connections        atomic.Uint64 // that were set up
	HandshakeFailures  atomic.Uint64 // attempts, of either side: bad frames, timeouts, lost peers
	Rejected           atomic.Uint64 // requests that were refused, here or by the peer
	Dropped            atomic.Uint64 // connections that had to make room for others during the startup
	TerminatesSent     atomic.Uint64 // or tried to
	TerminatesReceived atomic.Uint64
	CRCErrors          atomic.Uint64
	MarkerErrors       atomic.Uint64 // connections that ended because a marker did not fit
	Stalls             atomic.Uint64 // connections that ended because the peer had stalled (StallTimeout)
}

// faults returns the counter of connections that this side has ended with a code of the LLP, or
// nil.
func (c *Counters) faults(code rdmap.Code) *atomic.Uint64 {
	switch code {
	case rdmap.MPACRC:
		return &c.CRCErrors
	case rdmap.MPAMarker:
		return &c.MarkerErrors
	}
	return nil
}
