package redial

import "sync/atomic"

// Counters adds up what Conns count: those whose Config names it. The zero value is ready to use.
type Counters struct {
	connected, failures, lost, stalled, outages, waited, repeated atomic.Uint64
}

// Stats are the values of Counters at one time.
type Stats struct {
	Connected uint64 // connections made, the first ones included
	Failures  uint64 // attempts to make one
	Lost      uint64 // connections that ended before Close
	Stalled   uint64 // of these, for want of replies (ErrStalled)
	Outages   uint64 // times without any connection, of which a call has noticed
	Waited    uint64 // calls that waited for a connection
	Repeated  uint64 // calls sent again over another connection
}

// Stats returns the present values.
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
