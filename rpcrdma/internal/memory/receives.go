package memory

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// ErrNoRoom: a budget has no room for the receives that each connection must have.
var ErrNoRoom = errors.New("no memory for the receives of another connection")

// Budget limits the memory for receives, of all connections of a server and of each peer host. A
// busy connection has memory reserved for everything that its peer may send. An idle one has none.
// All of it is reserved together when the first message comes, and given back when the connection
// is idle again. So a connection that waits for it holds nothing. See docs/memory.md.
type Budget = budget.Budget[Receives]

// Receives posts the receives of a connection, and accounts for their memory. The mutex in its
// ReceivesConfig guards it. Methods are called with that held, apart from Release.
//
// A connection is busy while a message holds a receive, which is until the call in it has ended,
// and while calls of this side are under way. A busy connection has memory reserved for all posted
// receives, except for the few that each connection may have in any case. So its provider takes
// everything that comes, including responses to RDMA Reads that come after messages.
type Receives struct {
	mu       *sync.Mutex
	ep       transport.Endpoint
	pool     *Pool
	budget   *Budget
	align    int
	fail     func(error)
	heldUp   func()
	free     int                      // number of receives that do not count in the budget
	shared   transport.SharedReceiver // nil: receives have memory when they are posted
	unused   *receiveList             // unused receives of the current kind
	posted   []*Receive               // receives that the provider has
	promised int                      // posted receives that no message has taken
	expected int                      // calls of this side that await their reply
	held     int64                    // bytes of receives that messages have taken, with a budget
	reserved int64                    // bytes reserved in the budget
	least    int64                    // how many of these stay reserved
	ready    atomic.Bool              // memory is reserved, or not needed; changed under the mutex
	closed   bool
	asked    bool // it waits for memory, or has been given some
	share    budget.Share[Receives]
	request  budget.Request[Receives]
	size     int // bytes that receives to post must hold
	args     []*transport.RecvRequest
}

// ReceivesConfig is what Receives needs of its connection.
type ReceivesConfig struct {
	Mutex    *sync.Mutex
	Endpoint transport.Endpoint
	Pool     *Pool
	Budget   *Budget // nil: there is no limit
	Host     peerhost.Host
	Size     int         // of the longest message, in bytes
	Align    int         // of the second buffer; 0: there is none
	Free     int         // receives that do not count in the budget
	Fail     func(error) // ends the connection
	HeldUp   func()      // called when a message waits for memory
	Recall   func()      // takes back what Lend has noted; nil: Lend is never called
}

// Open chooses how to post receives. If the provider can hold messages back until there is memory,
// receives are promised. Otherwise they have memory when they are posted, and the few that each
// connection must have count in the budget, too. If these do not fit, Open fails with ErrNoRoom.
func (s *Receives) Open(cfg ReceivesConfig) error {
	s.mu, s.ep, s.pool, s.budget = cfg.Mutex, cfg.Endpoint, cfg.Pool, cfg.Budget
	s.align, s.fail, s.heldUp = cfg.Align, cfg.Fail, cfg.HeldUp
	s.free, s.size = cfg.Free, cfg.Size
	s.unused = cfg.Pool.list(receiveKind{cfg.Size, cfg.Align})
	b := cfg.Budget
	if b != nil {
		b.Join(&s.share, cfg.Host, math.MaxInt64)
		s.share.Recalls(cfg.Recall)
	}
	ep := cfg.Endpoint
	if shared, ok := transport.As[transport.SharedReceiver](ep); ok && ep.Info().CanHold {
		s.shared = shared
		shared.ShareRecv((*receiveSource)(s))
		return nil
	}
	if b == nil {
		return nil
	}
	n := int64(s.free) * s.receiveBytes()
	if !s.share.TryReserve(n) {
		s.share.Leave()
		return ErrNoRoom
	}
	s.free, s.least, s.reserved = 0, n, n
	return nil
}

// busy reports whether memory must be reserved.
func (s *Receives) busy() bool {
	return s.held > 0 || s.expected > 0 || s.shared == nil && s.promised > 0
}

// receiveBytes returns the memory of one receive.
func (s *Receives) receiveBytes() int64 { return int64(s.unused.kind.memory()) }

// spare returns how many bytes are reserved beyond what may be needed.
func (s *Receives) spare() int64 {
	return s.reserved - s.held - int64(s.promised-s.free)*s.receiveBytes()
}

// Allow returns for how many of n receives to post there is memory.
func (s *Receives) Allow(n int) int {
	size := s.receiveBytes()
	if s.budget == nil {
		return n
	}
	have := int(s.spare() / size)
	if have >= n {
		return n
	}
	have = max(have, 0)
	more := s.share.More(n-have, size, s.reserved)
	s.reserved += int64(more) * size
	return have + more
}

// secure reserves memory for all posted receives if the connection is busy, even beyond the budget.
func (s *Receives) secure() {
	if s.budget == nil || !s.busy() {
		return
	}
	if lack := -s.spare(); lack > 0 {
		s.share.Force(lack)
		s.reserved += lack
	}
	s.ready.Store(true)
	s.giveUp() // a call of this side begins, and its reply might be held up
}

// giveUp makes the connection no longer wait for memory, and lets its messages come.
func (s *Receives) giveUp() {
	if s.asked {
		s.asked = false
		Resume(s.share.Cancel(&s.request))
		s.shared.ResumeRecv()
	}
}

// Lend notes that n more receives, or fewer, are kept by what Recall takes back.
func (s *Receives) Lend(n int) {
	if s.budget != nil {
		s.share.Lend(n)
	}
}

// Scarce reports whether other connections lack memory for receives.
func (s *Receives) Scarce() bool { return s.budget != nil && s.share.Scarce() }

// settle gives back to the budget what the connection does not need.
func (s *Receives) settle() {
	n := s.reserved - s.least
	switch {
	case s.busy():
		if !s.share.Short(s.reserved) {
			return
		}
		n = min(n, s.spare())
	case s.ready.Load():
		s.ready.Store(false)
	}
	if n > 0 {
		s.reserved -= n
		Resume(s.share.Release(n, 0))
	}
}

// Resume lets messages come to connections that have been given memory.
func Resume(given []*Receives) {
	for _, s := range given {
		s.shared.ResumeRecv()
	}
}

// Expect posts the receive for the reply to a call of this side. Answered follows, unless it fails.
func (s *Receives) Expect() error {
	s.expected++
	_, err := s.Post(1)
	if err != nil {
		s.expected--
	}
	return err
}

// Answered notes that a call of this side no longer awaits its reply.
func (s *Receives) Answered() { s.expected-- }

// Post posts n receives. It returns how many it posted, with an error if that is less than n.
func (s *Receives) Post(n int) (posted int, err error) {
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

// postMemory is Post for receives with memory.
func (s *Receives) postMemory(n int) (posted int, err error) {
	args := s.args[:0]
	first := len(s.posted)
	for range n {
		var r *Receive
		if r, err = s.pool.getReceive(s.unused); err != nil {
			break
		}
		s.list(r)
		args = append(args, &r.RecvRequest)
	}
	s.args = args
	if len(args) == 0 {
		return 0, err
	}
	if err := s.ep.PostRecv(args...); err != nil {
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

// receiveSource is the transport.RecvSource of Receives.
type receiveSource Receives

// Receive returns memory for a message. The connection is busy from then on.
func (r *receiveSource) Receive() *transport.RecvRequest {
	s := (*Receives)(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	size := s.receiveBytes()
	if s.budget != nil && !s.ready.Load() {
		// One more is for the receive that the reply will post for its grant.
		if n := int64(s.promised+1-s.free) * size; n > 0 && !s.reserve(n) {
			s.heldUp()
			return nil
		}
		s.ready.Store(true)
	}
	m, err := s.pool.getReceive(s.unused)
	if err != nil {
		go s.fail(err)
		return nil
	}
	s.promised--
	if s.budget != nil {
		s.held += size
	}
	s.list(m)
	return &m.RecvRequest
}

// reserve reserves n bytes for a connection that has none. If it reports false, the connection
// waits. When its turn comes, its messages come again.
func (s *Receives) reserve(n int64) bool {
	if !s.asked {
		s.asked = !s.share.Reserve(&s.request, s, n)
		s.reserved = n
	} else if n := s.share.Granted(&s.request); n > 0 {
		s.asked, s.reserved = false, n
	}
	if s.asked {
		s.reserved = 0
	}
	return !s.asked
}

// Ready reports whether memory is reserved.
func (r *receiveSource) Ready() bool { return r.budget == nil || r.ready.Load() }

// list notes a receive that the provider has.
func (s *Receives) list(r *Receive) {
	r.index = len(s.posted)
	s.posted = append(s.posted, r)
}

// Arrived takes a receive that a message has used up from the provider. Release, Put or Repost
// gives it back.
func (s *Receives) Arrived(r *Receive) {
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

// Release gives back a receive that has arrived. The mutex is not held.
func (s *Receives) Release(r *Receive) {
	if s.budget == nil {
		s.pool.putReceive(r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Put(r)
}

// Put is Release with the mutex held.
func (s *Receives) Put(r *Receive) {
	s.pool.putReceive(r)
	if s.budget == nil {
		return
	}
	s.held -= int64(r.home.kind.memory())
	s.settle()
}

// Repost gives back a receive that was used up by a message which was neither a call nor an
// expected reply, and posts another one, because grants and calls under way still need it.
func (s *Receives) Repost(r *Receive) {
	s.Put(r)
	if _, err := s.Post(1); err != nil {
		go s.fail(err)
	}
}

// Close gives everything back after the provider has ended, except what messages still hold.
func (s *Receives) Close() {
	s.closed, s.expected = true, 0
	for _, r := range s.posted {
		s.pool.putReceive(r)
		if s.shared != nil && s.budget != nil {
			s.held -= int64(r.home.kind.memory())
		}
	}
	s.posted, s.promised, s.least = nil, 0, 0
	if s.budget == nil {
		return
	}
	if s.asked {
		s.asked = false
		Resume(s.share.Cancel(&s.request))
	}
	_, next := s.share.Leave()
	Resume(next)
	if n := s.reserved - s.held; n > 0 { // no more messages will come
		s.reserved -= n
		Resume(s.share.Release(n, 0))
	}
	s.settle()
}

// Longest returns the length in bytes of the longest message that receives hold from now on.
func (s *Receives) Longest() int { return s.size }

// Enlarge makes receives hold n bytes from now on, and returns the largest message that the peer
// may send. The first spare posted receives will be used up before that matters.
func (s *Receives) Enlarge(n, spare int) int {
	if s.shared != nil {
		s.enlargePromised(n)
		return s.size
	}
	n = max(n, s.size)
	short, least := 0, s.size
	for _, r := range s.posted {
		if r.Size() < n {
			short++
			least = min(least, r.Size())
		}
	}
	if short > spare {
		return least
	}
	if n > s.size {
		s.size, s.unused = n, s.pool.list(s.kindFor(n))
	}
	return s.size
}

// Expected returns how many calls of this side await their reply.
func (s *Receives) Expected() int { return s.expected }

// enlargePromised makes all promised receives longer, if there is memory for that.
func (s *Receives) enlargePromised(n int) {
	if n <= s.size {
		return
	}
	kind := s.kindFor(n)
	longer := int64(kind.memory()) - s.receiveBytes()
	if s.budget != nil && s.busy() && longer > 0 && s.promised > 0 {
		size := longer * int64(s.promised)
		if s.share.More(1, size, s.reserved) == 0 {
			return
		}
		s.reserved += size
	}
	s.size, s.unused = n, s.pool.list(kind)
	s.giveUp() // it waits for memory of the old length
}

// kindFor returns the kind of receives for messages of n bytes. Peers may ask for any size;
// rounding up to a power of two keeps the kinds few.
func (s *Receives) kindFor(n int) receiveKind {
	return receiveKind{1 << bits.Len(uint(n-1)), s.align}
}
