package recordmark

import "sync/atomic"

// Counters counts what happens on one connection or on many.
type Counters struct {
	recordsIn, recordsOut, bytesIn, bytesOut    atomic.Uint64
	calls, cancelled, served, stray, badRecords atomic.Uint64
	stalled                                     atomic.Uint64
}

// Stats are the values of Counters at one time.
type Stats struct {
	RecordsIn, RecordsOut uint64
	BytesIn, BytesOut     uint64 // of the records, without their marks
	Calls                 uint64 // made by this end
	Cancelled             uint64 // of these, given up because their context ended
	Served                uint64 // calls of the peer handed to a server
	StrayReplies          uint64 // replies to no call under way, late ones to cancelled calls above all
	BadRecords            uint64 // dropped or refused: too short, too long, no RPC message
	Stalled               uint64 // connections closed by Config.RecordTimeout or WriteTimeout
}

// Stats returns the present values.
func (c *Counters) Stats() Stats {
	return Stats{
		RecordsIn:    c.recordsIn.Load(),
		RecordsOut:   c.recordsOut.Load(),
		BytesIn:      c.bytesIn.Load(),
		BytesOut:     c.bytesOut.Load(),
		Calls:        c.calls.Load(),
		Cancelled:    c.cancelled.Load(),
		Served:       c.served.Load(),
		StrayReplies: c.stray.Load(),
		BadRecords:   c.badRecords.Load(),
		Stalled:      c.stalled.Load(),
	}
}
