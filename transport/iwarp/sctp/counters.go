package sctp

import "github.com/rpcrdma/go-rpcrdma/internal/stats"

// Counters counts events on the sockets and associations of the Configs that refer to it. The zero
// value is ready to use.
type Counters struct{ stats Stats }

// Stats is a snapshot of Counters.
type Stats struct {
	Associations uint64 // associations made
	Lost         uint64 // associations without a shutdown; aborted ones if they had sessions
	Sessions     uint64 // DDP stream sessions accepted, on either side
	Refused      uint64 // associations refused for lack of room
	Indications  uint64 // associations refused because of the peer's indication
	Pending      uint64 // sessions refused because too many waited for Accept
	Violations   uint64 // sessions ended because the peer broke the protocol
	Overruns     uint64 // sessions ended because too much waited for their consumer
	BadPackets   uint64 // packets with a wrong checksum, or with a bad startup chunk
	OutOfTheBlue uint64 // packets of no association, answered with ABORT
	Dropped      uint64 // DATA chunks dropped for lack of room; peers send them again
	ExcessSacks  uint64 // SACKs ignored because they cover more than is outstanding
}

// Stats returns the current values.
func (c *Counters) Stats() Stats { return stats.Load(&c.stats) }
