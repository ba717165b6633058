package sctp

import "sync/atomic"

// Counters adds up what happens on sockets and associations: those of the Configs that name it. The
// zero value is ready to use.
type Counters struct {
	associations, lost, sessions, refused, indications, pending, violations, overruns, badPackets,
	outOfTheBlue atomic.Uint64
}

// Stats are the values of Counters at one time.
type Stats struct {
	Associations uint64 // that were made
	Lost         uint64 // of these, ended otherwise than by a shutdown
	Sessions     uint64 // DDP stream sessions that were accepted, on either side
	Refused      uint64 // associations for which there was no room
	Indications  uint64 // associations that were refused for the peer's indication
	Pending      uint64 // sessions that were refused because too many waited
	Violations   uint64 // sessions that ended for what the peer has sent
	Overruns     uint64 // sessions that ended because too much waited for their consumer
	BadPackets   uint64 // with a wrong checksum, or startup that is none
	OutOfTheBlue uint64 // packets of no association, which were answered by an ABORT
}

// Stats returns the present values.
func (c *Counters) Stats() Stats {
	return Stats{
		Associations: c.associations.Load(),
		Lost:         c.lost.Load(),
		Sessions:     c.sessions.Load(),
		Refused:      c.refused.Load(),
		Indications:  c.indications.Load(),
		Pending:      c.pending.Load(),
		Violations:   c.violations.Load(),
		Overruns:     c.overruns.Load(),
		BadPackets:   c.badPackets.Load(),
		OutOfTheBlue: c.outOfTheBlue.Load(),
	}
}
