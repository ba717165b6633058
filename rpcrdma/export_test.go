package rpcrdma

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
)

// What follows lets tests outside the package compare the account of a connection with their own:
// that of its memory for receives, to the byte, and in TestPlayed all of it, after each step.

// served returns the budgets of the Serve that the connection belongs to, or belonged to. Its
// Config must have Counters, which no other Serve has.
func (c *Conn) served() budgets {
	n := c.cfg.Counters
	n.mu.Lock()
	defer n.mu.Unlock()
	for x := range n.now {
		if a, ok := x.(*acceptor); ok {
			return a.budgets
		}
	}
	panic("nothing serves any more")
}

// ReceiveMemory returns how much of the budget of receives is free, how much there is, and how many
// connections wait.
func (c *Conn) ReceiveMemory() (free, size int64, queued int) {
	b := c.served().receives
	return b.Free(), b.Size(), b.Queued()
}

// ForceReceiveMemory reserves n bytes for the host of the connection whatever is free, until the
// returned function is called.
func (c *Conn) ForceReceiveMemory(n int64) (release func()) {
	s := new(budget.Share[memory.Receives])
	c.served().receives.Join(s, peerhost.Of(c.RemoteAddr()), math.MaxInt64)
	s.Force(n)
	return func() {
		memory.Resume(s.Release(n, 0))
		s.Leave()
	}
}

// ServerModel is what a client that is played by hand knows of its connection, for DiffersFrom.
type ServerModel struct {
	Sent                      int
	Received, Ignored, Missed uint64
	Under                     map[uint32]int // the bytes that each call reserves
	Live                      []int          // the bytes that each reply pins
	Late, Blocked, May        int
	Beside                    int64
	Other                     bool
}

// DiffersFrom returns what of the connection is not as p has it, or nothing.
func (c *Conn) DiffersFrom(p ServerModel) string {
	if c.draft == nil {
		return "the connection is not of the Draft"
	}
	b, m, pinned := c.served(), &c.responder.share, &c.draft.pinned
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.over {
		return fmt.Sprintf("the connection has ended: %v", c.err)
	}
	s := c.Stats()
	if got, want := []uint64{s.CallsReceived, s.DonesReceived, s.DonesIgnored, s.DonesMissed}, []uint64{uint64(p.Sent), p.Received, p.Ignored, p.Missed}; !slices.Equal(got, want) {
		return fmt.Sprintf("%v calls and RDMA_DONEs counted, want %v", got, want)
	}
	// Each call is in a handler, or has a reason to wait. Any of them may be those that wait.
	waiting, withheld := m.Waiting(), len(pinned.withheld)
	if len(p.Under) != p.Blocked+withheld+waiting {
		return fmt.Sprintf("%d calls under way, %d in handlers, %d withheld, %d waiting",
			len(p.Under), p.Blocked, withheld, waiting)
	}
	live, most, least := int64(0), int64(0), int64(0)
	for _, size := range p.Live {
		live += int64(size)
	}
	for i, size := range slices.Sorted(maps.Values(p.Under)) {
		if i < len(p.Under)-waiting {
			least += int64(size)
		}
		if i >= waiting {
			most += int64(size)
		}
	}
	taken := b.chunks.Taken()
	if withheld > 0 && len(p.Live) == 0 {
		return "a reply is withheld, and no RDMA_DONE will come"
	}
	if waiting > 0 && taken == 0 && withheld+len(p.Live) == 0 && p.Beside == 0 {
		return "a call waits, and nothing is in use"
	}
	if pinned.live != len(p.Live) || pinned.dones != len(p.Live)+p.Late || pinned.late != p.Late {
		return fmt.Sprintf("%d replies pinned, %d RDMA_DONEs owed, %d of them late, want %d, %d, %d",
			pinned.live, pinned.dones, pinned.late, len(p.Live), len(p.Live)+p.Late, p.Late)
	}
	for in := c.responder.stalls.waiting.First(); in != nil; in = in.stall.Next() {
		rd := &in.reply.read
		if !rd.sent || !rd.owes {
			return "a Send is not complete"
		}
		taken += rd.beyond
	}
	// The other connection's reply may be beyond the budget, too.
	within := func(n int64) bool { return n >= least+live && n <= most+live }
	if !within(taken) && !within(taken-p.Beside) || b.chunks.Free() < 0 {
		return fmt.Sprintf("%d bytes in use, %d free, want %d to %d in use and %d beside",
			taken, b.chunks.Free(), least+live, most+live, p.Beside)
	}
	posted, active, owed := c.granter.State()
	if active != len(p.Under) || owed != pinned.dones || owed > c.cfg.Credits ||
		posted > 2*c.cfg.Credits+2 || posted < owed+p.May {
		return fmt.Sprintf("%d receives posted, %d for calls and %d for RDMA_DONEs; %d calls are under way",
			posted, p.May, owed, active)
	}
	return ""
}
