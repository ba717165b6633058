package recordmark

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// Counters counts what happens on one connection or on many.
type Counters struct {
	recordsIn, recordsOut, bytesIn, bytesOut    atomic.Uint64
	calls, cancelled, served, stray, badRecords atomic.Uint64
	conns, closed, stalled, lost                atomic.Uint64

	mu      sync.Mutex // guards what follows
	budgets map[*budget]struct{}
}

// Stats are the values of Counters at one time.
type Stats struct {
	RecordsIn, RecordsOut uint64
	BytesIn, BytesOut     uint64 // of the records, without their marks
	Calls                 uint64 // made by this end
	Cancelled             uint64 // of these, given up because their context ended
	Served                uint64 // calls of the peer handed to a server
	// replies to no call under way, late ones to cancelled calls above all
	StrayReplies uint64
	BadRecords   uint64 // dropped or refused: too short, too long, no RPC message
	Conns        uint64 // connections that began
	Closed       uint64 // of these, ended by either side in order
	Stalled      uint64 // closed by Config.RecordTimeout or WriteTimeout
	Lost         uint64 // ended otherwise
	// Memory is what is in use of Config.Memory now, and MemoryLimit all of it, in bytes: of each
	// Serve that runs.
	Memory, MemoryLimit int
}

// Stats returns the present values.
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

// memory returns what is in use of the budgets, and all of it.
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

// serves notes the budget of a Serve, until the function that it returns is called.
func (c *Counters) serves(b *budget) (no func()) {
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

// ended counts a connection that has ended because of err.
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
