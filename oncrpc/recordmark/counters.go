package recordmark

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// Counters counts what happens on one or several connections.
type Counters struct {
	recordsIn, recordsOut, bytesIn, bytesOut    atomic.Uint64
	calls, cancelled, served, stray, badRecords atomic.Uint64
	conns, closed, stalled, lost                atomic.Uint64

	mu      sync.Mutex // guards the fields below
	budgets map[*budget]struct{}
}

// Stats is a snapshot of Counters.
type Stats struct {
	RecordsIn, RecordsOut uint64
	BytesIn, BytesOut     uint64 // in records, without their marks
	Calls                 uint64 // calls of this end
	Cancelled             uint64 // of these, abandoned because their context ended
	Served                uint64 // calls of the peer passed to a server
	// replies without a pending call, mostly late ones to cancelled calls
	StrayReplies uint64
	BadRecords   uint64 // records dropped or refused: too short, too long, or no RPC message
	Conns        uint64 // connections started
	Closed       uint64 // of these, closed in an orderly way by either end
	Stalled      uint64 // closed by Config.RecordTimeout or WriteTimeout
	Lost         uint64 // ended in any other way
	// Memory is how much of Config.Memory is in use, and MemoryLimit its sum, in bytes, over all
	// running Serves.
	Memory, MemoryLimit int
}

// Stats returns the current values.
func (c *Counters) Stats() Stats {
	memory, limit := c.memory()
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
		Conns:        c.conns.Load(),
		Closed:       c.closed.Load(),
		Stalled:      c.stalled.Load(),
		Lost:         c.lost.Load(),
		Memory:       memory,
		MemoryLimit:  limit,
	}
}

// memory returns how much of all budgets is in use, and their sum.
func (c *Counters) memory() (inUse, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := range c.budgets {
		b.mu.Lock()
		inUse += b.size - b.free
		limit += b.size
		b.mu.Unlock()
	}
	return inUse, limit
}

// serves registers the budget of a Serve. Calling remove unregisters it.
func (c *Counters) serves(b *budget) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budgets == nil {
		c.budgets = make(map[*budget]struct{})
	}
	c.budgets[b] = struct{}{}
	return func() {
		c.mu.Lock()
		delete(c.budgets, b)
		c.mu.Unlock()
	}
}

// ended counts a connection that ended because of err.
func (c *Counters) ended(op string, err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.stalled.Add(1)
	case op == "close", errors.Is(err, ErrClosedByPeer):
		c.closed.Add(1)
	default:
		c.lost.Add(1)
	}
}
