package memory

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Pool keeps registered memory for the connections that share a Domain, sorted by size and access.
// Unused memory beyond poolKeep bytes goes back to the Domain.
type Pool struct {
	domain transport.Domain

	mu       sync.Mutex // guards what follows
	limit    int        // unused bytes to keep; 0 after Close
	kept     int
	unused   [accesses]sizeclass.Lists[transport.Slice]
	receives map[receiveKind]*receiveList
}

const (
	minClass = 10 // 1 KiB
	poolKeep = 32 << 20

	// MaxSize is the largest number of bytes that Get returns.
	MaxSize = 1 << sizeclass.Largest

	// accesses is the number of values of transport.Access for memory.
	accesses = transport.LocalWrite << 1
)

// NewPool returns an empty Pool.
func NewPool(d transport.Domain) *Pool {
	return &Pool{domain: d, limit: poolKeep, receives: make(map[receiveKind]*receiveList)}
}

// Domain returns where the memory comes from.
func (p *Pool) Domain() transport.Domain { return p.domain }

// Get returns n bytes for access. Their capacity is the size of their class.
func (p *Pool) Get(n int, access transport.Access) (transport.Slice, error) {
	c := sizeclass.Of(n, minClass)
	if c > sizeclass.Largest {
		return transport.Slice{}, transport.ErrNoMemory
	}
	p.mu.Lock()
	s, ok := p.unused[access].Take(c)
	if ok {
		p.kept -= 1 << c
	}
	p.mu.Unlock()
	if !ok {
		var err error
		if s, err = p.domain.Alloc(1<<c, access); err != nil {
			return s, err
		}
	}
	// Limit the capacity: more memory of the Domain may follow.
	s.Bytes = s.Bytes[: n : 1<<c]
	return s, nil
}

// Put takes back memory that Get returned for access.
func (p *Pool) Put(s transport.Slice, access transport.Access) {
	if s.Bytes == nil {
		return
	}
	s.Bytes = s.Bytes[:cap(s.Bytes)]
	poison.Bytes(s.Bytes)
	p.mu.Lock()
	keeps := p.kept+len(s.Bytes) <= p.limit
	if keeps {
		p.kept += len(s.Bytes)
		p.unused[access].Put(sizeclass.Of(len(s.Bytes), minClass), s)
	}
	p.mu.Unlock()
	if !keeps {
		p.domain.Free(s)
	}
}

// Close gives all unused memory back to the Domain. Memory that is put back later goes there, too.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit, p.kept = 0, 0
	for a := range p.unused {
		p.unused[a].Drop(0, p.domain.Free)
	}
	for _, l := range p.receives {
		for _, r := range l.free {
			p.free(r)
		}
		l.free = nil
	}
}
