package rpcrdma

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// supply is the account of a connection's receives. Conn.mu guards it.
//
// The connection is busy while a message holds a receive, until the call that came with it has ended, and while calls of this side are
// under way. Then it has reserved memory for all receives that are posted, beyond the few that each connection may have in any
// case. So its provider takes whatever comes, also the responses to RDMA Reads behind it.
type supply struct {
	budget   *receiveBudget           // nil: nothing bounds it
	free     int                      // receives that do not count in it
	shared   transport.SharedReceiver // nil: receives have their memory from the beginning
	least    int64                    // bytes of the budget that stay reserved
	wait     receiveWait
	promised int         // receives posted that no message has taken
	held     int64       // bytes of those that messages have taken, if there is a budget
	reserved int64       // bytes of the budget
	ready    atomic.Bool // memory is reserved, if it is needed; Conn.mu guards changes
}

// How many receives with memory a connection may have apart from the budget: for a call, and for the next one, which its reply
// allows, and where replies are read, for one more, as that grants two while an RDMA_DONE is to come (credits.Granter). So whoever makes one call at a time never waits for others.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// openSupply finds out how the provider takes receives. Promises are made where a message
// that comes can be held back until there is memory for it. Elsewhere each receive has its
// memory when it is posted, and the few that each connection must have count in the budget,
// too: if there is no room for these it fails with ErrReceiveMemory.
func (c *Conn) openSupply(b *receiveBudget) error {
	s := &c.supply
	s.budget, s.free = b, freeReceives
	if c.rules.replyReads {
		s.free = freeReceivesRead
	}
	if shared, ok := transport.As[transport.SharedReceiver](c.ep); ok && c.info.CanHold {
		s.shared, s.wait.resume = shared, shared.ResumeRecv
		shared.ShareRecv((*receiveSource)(c))
		return nil
	}
	if b == nil {
		return nil
	}
	n := int64(s.free) * c.receiveBytes()
	if !b.take(n) {
		return ErrReceiveMemory
	}
	s.free, s.least, s.reserved = 0, n, n
	return nil
}

// busy reports whether memory must be reserved; c.mu is held.
func (c *Conn) busy() bool {
	s := &c.supply
	return s.held > 0 || len(c.pending) > 0 || s.shared == nil && s.promised > 0
}

// receiveBytes is the memory of one receive.
func (c *Conn) receiveBytes() int64 { return int64(c.receives.kind.memory()) }

// spare is what is reserved beyond what may be needed; c.mu is held.
func (c *Conn) spare() int64 {
	s := &c.supply
	return s.reserved - s.held - int64(s.promised-s.free)*c.receiveBytes()
}

// allowReceives returns for how many of n receives that are to be posted there is memory; c.mu is held.
func (c *Conn) allowReceives(n int) int {
	s, size := &c.supply, c.receiveBytes()
	if s.budget == nil {
		return n
	}
	have := int(c.spare() / size)
	if have >= n {
		return n
	}
	have = max(have, 0)
	more := s.budget.more(n-have, size, s.reserved)
	s.reserved += int64(more) * size
	return have + more
}

// secure has memory reserved for what is posted if the connection is busy, even beyond the budget; c.mu is held.
func (c *Conn) secure() {
	s := &c.supply
	if s.budget == nil || !c.busy() {
		return
	}
	if lack := -c.spare(); lack > 0 {
		s.budget.force(lack)
		s.reserved += lack
	}
	s.ready.Store(true)
	if s.wait.asked { // a call of this side begins, whose reply might be held up
		s.budget.leave(&s.wait)
		s.shared.ResumeRecv()
	}
}

// settle gives back to the budget what the connection need not have; c.mu is held.
func (c *Conn) settle() {
	s := &c.supply
	n := s.reserved - s.least
	if c.busy() {
		if !s.budget.short(s.reserved) {
			return
		}
		n = min(n, c.spare())
	} else if s.ready.Load() {
		s.ready.Store(false)
	}
	if n > 0 {
		s.reserved -= n
		s.budget.release(n)
	}
}

// post posts n receives and returns how many it could, with an error if these are fewer;
// c.mu is held.
func (c *Conn) post(n int) (posted int, err error) {
	if n == 0 {
		return 0, nil
	}
	s := &c.supply
	if s.shared == nil {
		return c.postMemory(n)
	}
	if err := s.shared.PromiseRecv(n); err != nil {
		return 0, err
	}
	s.promised += n
	c.secure()
	return n, nil
}

// postMemory is post where the provider wants their memory.
func (c *Conn) postMemory(n int) (posted int, err error) {
	args := c.postArgs[:0]
	first := len(c.posted)
	for range n {
		var r *receive
		if r, err = c.pool.getReceive(c.receives); err != nil {
			break
		}
		c.list(r)
		args = append(args, &r.RecvRequest)
	}
	c.postArgs = args
	if len(args) == 0 {
		return 0, err
	}
	if err := c.ep.PostRecv(args...); err != nil {
		for _, r := range c.posted[first:] {
			c.pool.putReceive(r)
		}
		clear(c.posted[first:])
		c.posted = c.posted[:first]
		return 0, err
	}
	c.supply.promised += len(args)
	c.secure()
	return len(args), err
}

// receiveSource is a connection as its provider knows it: it supplies memory for promised receives.
type receiveSource Conn

// Receive returns memory for a message, and has the connection be busy.
func (s *receiveSource) Receive() *transport.RecvRequest {
	c := (*Conn)(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return nil // ended
	}
	a, size := &c.supply, c.receiveBytes()
	if a.budget != nil && !a.ready.Load() {
		// One more is for the reply to post, when it makes a grant.
		if n := int64(a.promised+1-a.free) * size; n > 0 {
			if a.reserved = a.budget.reserve(&a.wait, n); a.reserved == 0 {
				c.stats.heldUp.Add(1)
				return nil
			}
		}
		a.ready.Store(true)
	}
	r, err := c.pool.getReceive(c.receives)
	if err != nil {
		go c.fail(err)
		return nil
	}
	a.promised--
	if a.budget != nil {
		a.held += size
	}
	c.list(r)
	return &r.RecvRequest
}

// Ready reports whether memory is reserved.
func (s *receiveSource) Ready() bool { return s.supply.budget == nil || s.supply.ready.Load() }

// list notes a receive that the provider has; c.mu is held.
func (c *Conn) list(r *receive) {
	r.index = len(c.posted)
	c.posted = append(c.posted, r)
}

// arrived takes a receive that a message has used up from the provider; c.mu is held.
func (c *Conn) arrived(r *receive) {
	last := len(c.posted) - 1
	c.posted[r.index] = c.posted[last]
	c.posted[r.index].index = r.index
	c.posted[last] = nil
	c.posted = c.posted[:last]
	if s := &c.supply; s.shared == nil {
		s.promised--
		if s.budget != nil {
			s.held += int64(r.home.kind.memory())
		}
	}
}

// freeReceive gives a receive back that arrived.
func (c *Conn) freeReceive(r *receive) {
	if c.supply.budget == nil {
		c.pool.putReceive(r)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putReceive(r)
}

// putReceive is freeReceive where c.mu is held.
func (c *Conn) putReceive(r *receive) {
	c.pool.putReceive(r)
	if c.supply.budget == nil {
		return
	}
	c.supply.held -= int64(r.home.kind.memory())
	c.settle()
}

// repost gives the peer a receive back that a message used up which was neither a call nor a
// reply to one: grants and calls under way still count on it; c.mu is held.
func (c *Conn) repost(r *receive) {
	c.putReceive(r)
	if c.err != nil {
		return
	}
	if _, err := c.post(1); err != nil {
		go c.fail(err)
	}
}

// endSupply gives everything back when the provider has ended, but for what messages still hold; c.mu is held.
func (c *Conn) endSupply() {
	s := &c.supply
	for _, r := range c.posted {
		c.pool.putReceive(r)
		if s.shared != nil && s.budget != nil {
			s.held -= int64(r.home.kind.memory())
		}
	}
	c.posted, s.promised, s.least = nil, 0, 0
	if s.budget != nil {
		s.budget.leave(&s.wait)
		if n := s.reserved - s.held; n > 0 { // nothing more comes, so it needs no more than it has
			s.reserved -= n
			s.budget.release(n)
		}
		c.settle()
	}
}
