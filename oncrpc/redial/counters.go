package redial

import "github.com/rpcrdma/go-rpcrdma/internal/stats"

// Counters counts what happens in the Conns whose Config names it. The zero value is ready to use.
type Counters struct{ stats Stats }

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
func (c *Counters) Stats() Stats { return stats.Load(&c.stats) }
