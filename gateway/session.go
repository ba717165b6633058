package gateway

import (
	"context"
	"hash/fnv"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// session is a client connection, with the connections to servers that were made for it.
type session struct {
	g      *Gateway
	client oncrpc.Transport
	ctx    context.Context // ends with client
	mark   uint32          // tells the client's transaction ids from those of others
	memory *semaphore.Weighted

	mu    sync.Mutex     // guards what follows
	under map[uint32]int // by XID: how many times a call under way has come; or waits
	legs  map[*route]*leg
}

func newSession(ctx context.Context, g *Gateway, client oncrpc.Transport) *session {
	return &session{
		g:      g,
		client: client,
		ctx:    ctx,
		mark:   mark(client.RemoteAddr()),
		memory: semaphore.NewWeighted(g.cfg.ConnMemory),
		under:  make(map[uint32]int),
		legs:   make(map[*route]*leg),
	}
}

// mark returns a number that depends on a client's address and port alone. All clients of a gateway
// come to the server from one host, so two that use the same transaction ids would get each other's
// kept replies. One that comes back from the same port gets its own, even after a restart of the
// gateway.
func mark(client net.Addr) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, client.String()) // never fails
	return h.Sum32()
}

// Special values of session.under.
const (
	first = 0  // it is not under way
	waits = -1 // it has not been handed to a connection yet
)

// begin enters a call. It returns how many times the call has come since it was handed to a
// connection.
func (s *session) begin(xid uint32) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times = s.under[xid]
	switch times {
	case first:
		s.under[xid] = waits
	case waits:
	default:
		times++
		s.under[xid] = times
	}
	return times
}

// handed records that a call was handed to a connection.
func (s *session) handed(xid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[xid] == waits {
		s.under[xid] = 1
	}
}

// end removes a call that was answered. The client may use its XID again.
func (s *session) end(xid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, xid)
}

// reserve waits for memory for the reply of a call. It fails when the session ends.
func (s *session) reserve(n int64) error {
	if n == 0 {
		return nil
	}
	// The connection's memory first: a connection at its own limit must not take the others'.
	if err := s.acquire(s.memory, n); err != nil {
		return err
	}
	err := s.acquire(s.g.memory, n)
	if err != nil {
		s.memory.Release(n)
	}
	return err
}

func (s *session) acquire(from *semaphore.Weighted, n int64) error {
	if from.TryAcquire(n) {
		return nil
	}
	atomic.AddUint64(&s.g.stats.Waited, 1)
	return from.Acquire(s.ctx, n)
}

func (s *session) release(n int64) {
	if n > 0 {
		s.memory.Release(n)
		s.g.memory.Release(n)
	}
}
