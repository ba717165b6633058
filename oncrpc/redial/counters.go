package redial

import "sync/atomic"

// Counters counts what happens in the Conns whose Config names it. The zero value is ready to use.
type Counters struct {
	connected, failures, lost, stalled, outages, waited, repeated atomic.Uint64
}

// Stats is a snapshot of Counters.
type Stats struct {
	Connected uint64 // connections made, the first ones included
	Failures  uint64 // failed attempts to make one
	Lost      uint64 // connections that ended before Close
	Stalled   uint64 // of these, closed because no reply came (ErrStalled)
	Outages   uint64 // periods without a connection in which a call waited
	Waited    uint64 // calls that waited for a connection
	Repeated  uint64 // calls repeated over another connection
}

// Stats returns the current values.
func (c *Counters) Stats() Stats {
	return Stats{
		Connected: c.connected.Load(),
		Failures:  c.failures.Load(),
		Lost:      c.lost.Load(),
		Stalled:   c.stalled.Load(),
		Outages:   c.outages.Load(),
		Waited:    c.waited.Load(),
		Repeated:  c.repeated.Load(),
	}
}
