package rpcrdma

import (
	"math/bits"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// supply posts the receives of a connection, and keeps account of their memory. Conn.mu guards it.
//
// The connection is busy while a message holds a receive, until the call that came with it has
// ended, and while calls of this side are under way. Then it has reserved memory for all receives
// that are posted, beyond the few that each connection may have in any case. So its provider takes
// whatever comes, also the responses to RDMA Reads behind it.
type supply struct {
	conn     *Conn
	pool     *pool
	budget   *receiveBudget           // nil: nothing bounds it
	free     int                      // receives that do not count in it
	shared   transport.SharedReceiver // nil: receives have their memory from the beginning
	receives *receiveList             // where those to post come from
	posted   []*receive               // that the provider has
	promised int                      // receives posted that no message has taken
	// bytes of those that messages have taken, if there is a budget
	held     int64
	reserved int64       // bytes of the budget
	least    int64       // of these, what stays reserved
	ready    atomic.Bool // memory is reserved, if it is needed; Conn.mu guards changes
	share    receiveShare
	size     int // bytes that the receives to post must hold
	args     []*transport.RecvRequest
}

// How many receives with memory a connection may have apart from the budget: for a call, and for
// the next one, which its reply allows, and where replies are read, for one more, as that grants
// two while an RDMA_DONE is to come (credits.Granter). So whoever makes one call at a time never
// waits for others.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// open finds out how the provider takes receives. Promises are made where a message
// that comes can be held back until there is memory for it. Elsewhere each receive has its
// memory when it is posted, and the few that each connection must have count in the budget,
// too: if there is no room for these it fails with ErrReceiveMemory.
func (s *supply) open(c *Conn, m *memory, host peerhost.Host) error {
	b := m.receives
	s.conn, s.pool, s.budget, s.free = c, m.pool, b, freeReceives
	s.size = c.cfg.receiveSize()
	s.receives = s.pool.list(receiveKind{s.size, c.cfg.Align})
	if c.draft != nil {
		s.free = freeReceivesRead
	}
	if b != nil {
		b.join(&s.share, host)
	}
	if shared, ok := transport.As[transport.SharedReceiver](c.ep); ok && c.info.CanHold {
		s.shared, s.share.resume = shared, shared.ResumeRecv
		shared.ShareRecv((*receiveSource)(s))
		return nil
	}
	if b == nil {
		return nil
	}
	n := int64(s.free) * s.receiveBytes()
	if !b.tryReserve(s.share.host, n) {
		b.leave(&s.share)
		return ErrReceiveMemory
	}
	s.free, s.least, s.reserved = 0, n, n
	return nil
}

// busy reports whether memory must be reserved; c.mu is held.
func (s *supply) busy() bool {
	return s.held > 0 || s.conn.caller.pending.n > 0 || s.shared == nil && s.promised > 0
}

// receiveBytes is the memory of one receive.
func (s *supply) receiveBytes() int64 { return int64(s.receives.kind.memory()) }

// spare is what is reserved beyond what may be needed; c.mu is held.
func (s *supply) spare() int64 {
	return s.reserved - s.held - int64(s.promised-s.free)*s.receiveBytes()
}

// allow returns for how many of n receives that are to be posted there is memory; c.mu is held.
func (s *supply) allow(n int) int {
	size := s.receiveBytes()
	if s.budget == nil {
		return n
	}
	have := int(s.spare() / size)
	if have >= n {
		return n
	}
	have = max(have, 0)
	more := s.budget.more(&s.share, n-have, size, s.reserved)
	s.reserved += int64(more) * size
	return have + more
}

// secure has memory reserved for what is posted if the connection is busy, even beyond the budget;
// c.mu is held.
func (s *supply) secure() {
	if s.budget == nil || !s.busy() {
		return
	}
	if lack := -s.spare(); lack > 0 {
		s.budget.force(&s.share, lack)
		s.reserved += lack
	}
	s.ready.Store(true)
	if s.share.asked { // a call of this side begins, whose reply might be held up
		s.budget.cancel(&s.share)
		s.shared.ResumeRecv()
	}
}

// scarce reports whether memory for receives is short for others. Where there is no budget there is
// always more.
func (s *supply) scarce() bool { return s.budget != nil && s.budget.scarce(&s.share) }

// settle gives back to the budget what the connection need not have; c.mu is held.
func (s *supply) settle() {
	n := s.reserved - s.least
	if s.busy() {
		if !s.budget.short(&s.share, s.reserved) {
			return
		}
		n = min(n, s.spare())
	} else if s.ready.Load() {
		s.ready.Store(false)
	}
	if n > 0 {
		s.reserved -= n
		s.budget.release(&s.share, n)
	}
}

// post posts n receives and returns how many it could, with an error if these are fewer;
// c.mu is held.
func (s *supply) post(n int) (posted int, err error) {
	if n == 0 {
		return 0, nil
	}
	if s.shared == nil {
		return s.postMemory(n)
	}
	if err := s.shared.PromiseRecv(n); err != nil {
		return 0, err
	}
	s.promised += n
	s.secure()
	return n, nil
}

// postMemory is post where the provider wants their memory.
func (s *supply) postMemory(n int) (posted int, err error) {
	c := s.conn
	args := s.args[:0]
	first := len(s.posted)
	for range n {
		var r *receive
		if r, err = s.pool.getReceive(s.receives); err != nil {
			break
		}
		s.list(r)
		args = append(args, &r.RecvRequest)
	}
	s.args = args
	if len(args) == 0 {
		return 0, err
	}
	if err := c.ep.PostRecv(args...); err != nil {
		for _, r := range s.posted[first:] {
			s.pool.putReceive(r)
		}
		clear(s.posted[first:])
		s.posted = s.posted[:first]
		return 0, err
	}
	s.promised += len(args)
	s.secure()
	return len(args), err
}

// receiveSource is a supply as its provider knows it: it has memory for promised receives.
type receiveSource supply

// Receive returns memory for a message, and has the connection be busy.
func (r *receiveSource) Receive() *transport.RecvRequest {
	s := (*supply)(r)
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil // ended
	}
	size := s.receiveBytes()
	if s.budget != nil && !s.ready.Load() {
		// One more is for the reply to post, when it makes a grant.
		if n := int64(s.promised+1-s.free) * size; n > 0 {
			if s.reserved = s.budget.reserve(&s.share, n); s.reserved == 0 {
				c.stats.heldUp.Add(1)
				return nil
			}
		}
		s.ready.Store(true)
	}
	m, err := s.pool.getReceive(s.receives)
	if err != nil {
		go c.fail(err)
		return nil
	}
	s.promised--
	if s.budget != nil {
		s.held += size
	}
	s.list(m)
	return &m.RecvRequest
}

// Ready reports whether memory is reserved.
func (r *receiveSource) Ready() bool { return r.budget == nil || r.ready.Load() }

// list notes a receive that the provider has; c.mu is held.
func (s *supply) list(r *receive) {
	r.index = len(s.posted)
	s.posted = append(s.posted, r)
}

// arrived takes a receive that a message has used up from the provider; c.mu is held.
func (s *supply) arrived(r *receive) {
	last := len(s.posted) - 1
	s.posted[r.index] = s.posted[last]
	s.posted[r.index].index = r.index
	s.posted[last] = nil
	s.posted = s.posted[:last]
	if s.shared == nil {
		s.promised--
		if s.budget != nil {
			s.held += int64(r.home.kind.memory())
		}
	}
}

// release gives a receive back that arrived. Conn.mu is not held.
func (s *supply) release(r *receive) {
	if s.budget == nil {
		s.pool.putReceive(r)
		return
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.put(r)
}

// put is release where Conn.mu is held.
func (s *supply) put(r *receive) {
	s.pool.putReceive(r)
	if s.budget == nil {
		return
	}
	s.held -= int64(r.home.kind.memory())
	s.settle()
}

// repost gives the peer a receive back that a message used up which was neither a call nor a reply
// to one: grants and calls under way still count on it; Conn.mu is held.
func (s *supply) repost(r *receive) {
	s.put(r)
	if s.conn.err != nil {
		return
	}
	if _, err := s.post(1); err != nil {
		go s.conn.fail(err)
	}
}

// close gives everything back when the provider has ended, but for what messages still hold;
// Conn.mu is held.
func (s *supply) close() {
	for _, r := range s.posted {
		s.pool.putReceive(r)
		if s.shared != nil && s.budget != nil {
			s.held -= int64(r.home.kind.memory())
		}
	}
	s.posted, s.promised, s.least = nil, 0, 0
	if s.budget != nil {
		s.budget.leave(&s.share)
		if n := s.reserved - s.held; n > 0 { // nothing more comes, so it needs no more than it has
			s.reserved -= n
			s.budget.release(&s.share, n)
		}
		s.settle()
	}
}

// enlarge has receives hold n bytes from now on, and returns the largest message that the peer may
// send; Conn.mu is held. Of the receives that are posted already, spare will be used up before.
func (s *supply) enlarge(n, spare int) int {
	if s.shared != nil {
		s.enlargePromised(n)
		return s.size
	}
	short, least := 0, s.size
	for _, r := range s.posted {
		if r.home.kind.size < n {
			short++
			least = min(least, r.home.kind.size)
		}
	}
	if short > spare {
		return least
	}
	if n > s.size {
		s.size, s.receives = n, s.pool.list(s.kindFor(n))
	}
	return s.size
}

// enlargePromised makes all promised receives longer, if there is memory for that; Conn.mu is held.
func (s *supply) enlargePromised(n int) {
	if n <= s.size {
		return
	}
	kind := s.kindFor(n)
	longer := int64(kind.memory()) - s.receiveBytes()
	if s.budget != nil && s.busy() && longer > 0 && s.promised > 0 {
		size := longer * int64(s.promised)
		if s.budget.more(&s.share, 1, size, s.reserved) == 0 {
			return
		}
		s.reserved += size
	}
	s.size, s.receives = n, s.pool.list(kind)
	if s.share.asked { // for as many of the old length
		s.budget.cancel(&s.share)
		s.shared.ResumeRecv()
	}
}

// kindFor returns receives for messages of n bytes. Peers may ask for any size: a few kinds serve
// them all.
func (s *supply) kindFor(n int) receiveKind {
	return receiveKind{1 << bits.Len(uint(n-1)), s.conn.cfg.Align}
}
