package sctp

import "sync/atomic"

// Counters counts what happens on sockets and associations. It may be read at any time.
type Counters struct {
	Associations atomic.Uint64 // that were made
	Lost         atomic.Uint64 // of these, ended otherwise than by a shutdown
	Sessions     atomic.Uint64 // DDP stream sessions that were accepted, on either side
	Refused      atomic.Uint64 // associations for which there was no room
	Indications  atomic.Uint64 // associations that were refused for the peer's indication
	Pending      atomic.Uint64 // sessions that were refused because too many waited
	Violations   atomic.Uint64 // sessions that ended for what the peer has sent
	Overruns     atomic.Uint64 // sessions that ended because too much waited for their consumer
	BadPackets   atomic.Uint64 // with a wrong checksum, or startup that is none
	OutOfTheBlue atomic.Uint64 // packets of no association, which were answered by an ABORT
}
