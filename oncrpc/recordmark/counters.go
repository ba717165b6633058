package recordmark

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
)

// Counters counts what happens on one or several connections.
type Counters struct {
	stats Stats

	mu      sync.Mutex // guards the fields below
	budgets map[*budget.Budget[waiter]]struct{}
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
	// BadHandshakes counts the starts of TLS by peers that failed.
	BadHandshakes uint64
	Conns         uint64 // connections started
	Closed        uint64 // of these, closed in an orderly way by either end
	Stalled       uint64 // closed by Config.RecordTimeout or WriteTimeout
	Lost          uint64 // ended in any other way
	// Memory is how much of Config.Memory is in use, and MemoryLimit its sum, in bytes, over all
	// running Serves.
	Memory, MemoryLimit int
}

// Stats returns the current values.
func (c *Counters) Stats() Stats {
	now := stats.Load(&c.stats)
	now.Memory, now.MemoryLimit = c.memory()
	return now
}

// memory returns how much of all budgets is in use, and their sum.
func (c *Counters) memory() (inUse, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := range c.budgets {
		inUse += int(b.Taken())
		limit += int(b.Size())
	}
	return inUse, limit
}

// serves registers the budget of a Serve. Calling remove unregisters it.
func (c *Counters) serves(b *budget.Budget[waiter]) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budgets == nil {
		c.budgets = make(map[*budget.Budget[waiter]]struct{})
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
		atomic.AddUint64(&c.stats.Stalled, 1)
	case op == "close", errors.Is(err, ErrClosedByPeer):
		atomic.AddUint64(&c.stats.Closed, 1)
	default:
		atomic.AddUint64(&c.stats.Lost, 1)
	}
}
