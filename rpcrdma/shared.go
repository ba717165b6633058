package rpcrdma

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// shared is what the connections of one Domain share: memory, and objects for reuse. These are not
// kept for the whole process because they have channels, and those made in a bubble of
// testing/synctest cannot be used outside.
type shared struct {
	*memory.Pool
	calls     sync.Pool // of *call
	incomings sync.Pool // of *incoming
	fetches   sync.Pool // of *replyFetch

	users int // guarded by dialledShared.mu
}

func newShared(d transport.Domain) *shared { return &shared{Pool: memory.NewPool(d)} }

// dialled has what the connections of Dial share, so that the limit of unused memory counts for all
// of them.
var dialled dialledShared

type dialledShared struct {
	mu  sync.Mutex // guards what follows
	all map[transport.Domain]*shared
}

// join returns what a connection shares with others. It must call leave when it has ended.
func (s *dialledShared) join(d transport.Domain) *shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[d]
	if p == nil {
		if s.all == nil {
			s.all = make(map[transport.Domain]*shared)
		}
		p = newShared(d)
		s.all[d] = p
	}
	p.users++
	return p
}

// leave gives all memory back after the last connection has ended.
func (s *dialledShared) leave(p *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(s.all, p.Domain())
		p.Close()
	}
}
