package rpcrdma

import (
	"math/bits"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// supply posts the receives of a connection, and accounts for their memory. Conn.mu guards it.
//
// A connection is busy while a message holds a receive, which is until the call in it has ended,
// and while calls of this side are under way. A busy connection has memory reserved for all posted
// receives, except for the few that each connection may have in any case. So its provider takes
// everything that comes, including responses to RDMA Reads that come after messages.
type supply struct {
	conn     *Conn
	pool     *pool
	budget   *receiveBudget           // nil: there is no limit
	free     int                      // number of receives that do not count in the budget
	shared   transport.SharedReceiver // nil: receives have memory when they are posted
	receives *receiveList             // unused receives of the current kind
	posted   []*receive               // receives that the provider has
	promised int                      // posted receives that no message has taken
	held     int64                    // bytes of receives that messages have taken, with a budget
	reserved int64                    // bytes reserved in the budget
	least    int64                    // how many of these stay reserved
	ready    atomic.Bool              // memory is reserved, or not needed; Conn.mu guards changes
	share    receiveShare
	size     int // bytes that receives to post must hold
	args     []*transport.RecvRequest
}

// The number of receives of each connection that do not count in the budget: one for a call, and
// one for the next call, which its reply allows. If replies are read, one more, because two credits
// are granted while an RDMA_DONE is to come (credits.Granter). So a peer that makes one call at a
// time never waits for others.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// open chooses how to post receives. If the provider can hold messages back until there is memory,
// receives are promised. Otherwise they have memory when they are posted, and the few that each
// connection must have count in the budget, too. If these do not fit, open fails with
// ErrReceiveMemory.
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

// busy reports whether memory must be reserved; Conn.mu is held.
func (s *supply) busy() bool {
	return s.held > 0 || s.conn.caller.pending.n > 0 || s.shared == nil && s.promised > 0
}

// receiveBytes returns the memory of one receive.
func (s *supply) receiveBytes() int64 { return int64(s.receives.kind.memory()) }

// spare returns how many bytes are reserved beyond what may be needed; Conn.mu is held.
func (s *supply) spare() int64 {
	return s.reserved - s.held - int64(s.promised-s.free)*s.receiveBytes()
}

// allow returns for how many of n receives to post there is memory; Conn.mu is held.
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

// secure reserves memory for all posted receives if the connection is busy, even beyond the budget;
// Conn.mu is held.
func (s *supply) secure() {
	if s.budget == nil || !s.busy() {
		return
	}
	if lack := -s.spare(); lack > 0 {
		s.budget.force(&s.share, lack)
		s.reserved += lack
	}
	s.ready.Store(true)
	if s.share.asked { // a call of this side begins, and its reply might be held up
		s.budget.cancel(&s.share)
		s.shared.ResumeRecv()
	}
}

// scarce reports whether other connections lack memory for receives.
func (s *supply) scarce() bool { return s.budget != nil && s.budget.scarce(&s.share) }

// settle gives back to the budget what the connection does not need; Conn.mu is held.
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

// post posts n receives. It returns how many it posted, with an error if that is less than n;
// Conn.mu is held.
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

// postMemory is post for receives with memory.
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

// receiveSource is the transport.RecvSource of a supply.
type receiveSource supply

// Receive returns memory for a message. The connection is busy from then on.
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
		// One more is for the receive that the reply will post for its grant.
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

// arrived takes a receive that a message has used up from the provider; Conn.mu is held.
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

// release gives back a receive that has arrived. Conn.mu is not held.
func (s *supply) release(r *receive) {
	if s.budget == nil {
		s.pool.putReceive(r)
		return
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.put(r)
}

// put is release with Conn.mu held.
func (s *supply) put(r *receive) {
	s.pool.putReceive(r)
	if s.budget == nil {
		return
	}
	s.held -= int64(r.home.kind.memory())
	s.settle()
}

// repost gives back a receive that was used up by a message which was neither a call nor an
// expected reply, and posts another one, because grants and calls under way still need it; Conn.mu
// is held.
func (s *supply) repost(r *receive) {
	s.put(r)
	if s.conn.err != nil {
		return
	}
	if _, err := s.post(1); err != nil {
		go s.conn.fail(err)
	}
}

// close gives everything back after the provider has ended, except what messages still hold;
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
		if n := s.reserved - s.held; n > 0 { // no more messages will come
			s.reserved -= n
			s.budget.release(&s.share, n)
		}
		s.settle()
	}
}

// enlarge makes receives hold n bytes from now on, and returns the largest message that the peer
// may send; Conn.mu is held. The first spare posted receives will be used up before that matters.
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
	if s.share.asked { // it waits for memory of the old length
		s.budget.cancel(&s.share)
		s.shared.ResumeRecv()
	}
}

// kindFor returns the kind of receives for messages of n bytes. Peers may ask for any size;
// rounding up to a power of two keeps the kinds few.
func (s *supply) kindFor(n int) receiveKind {
	return receiveKind{1 << bits.Len(uint(n-1)), s.conn.cfg.Align}
}
