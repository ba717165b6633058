package iwarp

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Counters adds up what happens on connections: those of the Configs that name it. The zero value
// is ready to use.
type Counters struct {
	connections, handshakeFailures, rejected, dropped, terminatesSent, terminatesReceived,
	crcErrors, markerErrors, stalls atomic.Uint64
}

// Stats are the values of Counters at one time.
type Stats struct {
	Connections        uint64 // that were set up
	HandshakeFailures  uint64 // attempts, of either side: bad frames, timeouts, lost peers
	Rejected           uint64 // requests that were refused, here or by the peer
	Dropped            uint64 // connections that had to make room for others during the startup
	TerminatesSent     uint64 // or tried to
	TerminatesReceived uint64
	CRCErrors          uint64
	MarkerErrors       uint64 // connections that ended because a marker did not fit
	Stalls             uint64 // connections that ended because the peer had stalled (StallTimeout)
}

// Stats returns the present values.
func (c *Counters) Stats() Stats {
	return Stats{
		Connections:        c.connections.Load(),
		HandshakeFailures:  c.handshakeFailures.Load(),
		Rejected:           c.rejected.Load(),
		Dropped:            c.dropped.Load(),
		TerminatesSent:     c.terminatesSent.Load(),
		TerminatesReceived: c.terminatesReceived.Load(),
		CRCErrors:          c.crcErrors.Load(),
		MarkerErrors:       c.markerErrors.Load(),
		Stalls:             c.stalls.Load(),
	}
}

// faults returns the counter of connections that this side has ended with a code of the LLP, or
// nil.
func (c *Counters) faults(code rdmap.Code) *atomic.Uint64 {
	switch code {
	case rdmap.MPACRC:
		return &c.crcErrors
	case rdmap.MPAMarker:
		return &c.markerErrors
	}
	return nil
}
