package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Counters counts events on all connections of the Configs that refer to it. The zero value is
// ready to use.
type Counters struct{ stats Stats }

// Stats is a snapshot of Counters.
type Stats struct {
	Connections        uint64 // connections set up
	HandshakeFailures  uint64 // failed startups, of either side: bad frames, timeouts, lost peers
	Rejected           uint64 // requests refused, here or by the peer
	Dropped            uint64 // connections closed during the startup, to make room for others
	TerminatesSent     uint64 // or attempted
	TerminatesReceived uint64
	CRCErrors          uint64
	MarkerErrors       uint64 // connections ended by a wrong marker
	Stalls             uint64 // connections ended by Config.StallTimeout
}

// Stats returns the current values.
func (c *Counters) Stats() Stats { return stats.Load(&c.stats) }

// faults returns the counter of connections that this side ended with an LLP code, or nil.
func (c *Counters) faults(code rdmap.Code) *uint64 {
	switch code {
	case rdmap.MPACRC:
		return &c.stats.CRCErrors
	case rdmap.MPAMarker:
		return &c.stats.MarkerErrors
	}
	return nil
}
