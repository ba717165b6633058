package rpcrdma

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// dialled has the pools of the connections of Dial. All connections with the same Domain share a
// pool, so that the limit of unused memory counts for all of them.
var dialled poolSet

// poolSet has the pools in use by connections.
type poolSet struct {
	mu    sync.Mutex // guards what follows
	pools map[transport.Domain]*shared
}

type shared struct {
	pool  *pool
	users int
}

// join returns the pool for a connection, which must call leave when it has ended.
func (s *poolSet) join(d transport.Domain) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pools[d]
	if p == nil {
		if s.pools == nil {
			s.pools = make(map[transport.Domain]*shared)
		}
		p = &shared{pool: newPool(d)}
		s.pools[d] = p
	}
	p.users++
	return p.pool
}

// leave closes the pool after its last connection has ended.
func (s *poolSet) leave(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := p.domain
	if s.pools[d].users--; s.pools[d].users == 0 {
		delete(s.pools, d)
		p.close()
	}
}
