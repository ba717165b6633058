package rpcrdma

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// dialled are the pools of the connections of Dial. As with those of one Serve, the connections of a domain share one, so that what
// lies unused is bounded however many they are.
var dialled poolSet

// poolSet has the pools that connections use.
type poolSet struct {
	mu    sync.Mutex // guards what follows
	pools map[poolKey]*shared
}

// poolKey is what the connections that share a pool have in common.
type poolKey struct {
	domain transport.Domain
	recv   int
}

type shared struct {
	pool  *pool
	users int
}

// join returns the pool for a connection, which is to leave it.
func (s *poolSet) join(d transport.Domain, recv int) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := poolKey{d, recv}
	p := s.pools[k]
	if p == nil {
		if s.pools == nil {
			s.pools = make(map[poolKey]*shared)
		}
		p = &shared{pool: newPool(d, recv)}
		s.pools[k] = p
	}
	p.users++
	return p.pool
}

// leave is for a connection that has ended. The last one closes the pool.
func (s *poolSet) leave(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := poolKey{p.domain, p.recv}
	if s.pools[k].users--; s.pools[k].users == 0 {
		delete(s.pools, k)
		p.close()
	}
}
