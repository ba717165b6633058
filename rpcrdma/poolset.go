package rpcrdma

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// dialled are the pools of the connections of Dial. As with those of one Serve, the connections of
// a domain share one, so that what lies unused is bounded however many they are.
var dialled poolSet

// poolSet has the pools that connections use.
type poolSet struct {
	mu    sync.Mutex // guards what follows
	pools map[transport.Domain]*shared
}

type shared struct {
	pool  *pool
	users int
}

// join returns the pool for a connection, which is to leave it.
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

// leave is for a connection that has ended. The last one closes the pool.
func (s *poolSet) leave(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := p.domain
	if s.pools[d].users--; s.pools[d].users == 0 {
		delete(s.pools, d)
		p.close()
	}
}
