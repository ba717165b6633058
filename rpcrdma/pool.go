package rpcrdma

import (
	"math/bits"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// pool keeps registered memory for the connections that share a Domain, sorted by size (powers of
// two) and access. Unused memory beyond poolKeep bytes goes back to the Domain.
//
// It also keeps calls for reuse. They are not kept for the whole process because they have
// channels, and those made in a bubble of testing/synctest cannot be used outside.
type pool struct {
	domain    transport.Domain
	calls     sync.Pool // of *call
	incomings sync.Pool // of *incoming
	fetches   sync.Pool // of *replyFetch

	mu       sync.Mutex // guards what follows
	limit    int        // unused bytes to keep; 0 after close
	kept     int
	classes  [accesses][maxClass + 1][]transport.Slice
	receives map[receiveKind]*receiveList
}

const (
	minClass = 10 // 1 KiB
	maxClass = 30 // 1 GiB
	poolKeep = 32 << 20

	// accesses is the number of values of transport.Access for memory.
	accesses = transport.LocalWrite << 1
)

func newPool(d transport.Domain) *pool {
	return &pool{domain: d, limit: poolKeep, receives: make(map[receiveKind]*receiveList)}
}

// class returns the smallest class that holds n bytes: the binary logarithm of its size.
func class(n int) int { return max(minClass, bits.Len(uint(max(n, 1)-1))) }

// get returns n bytes for access. Their capacity is the size of their class.
func (p *pool) get(n int, access transport.Access) (transport.Slice, error) {
	c := class(n)
	if c > maxClass {
		return transport.Slice{}, transport.ErrNoMemory
	}
	p.mu.Lock()
	free := &p.classes[access][c]
	if l := len(*free); l > 0 {
		s := (*free)[l-1]
		*free = (*free)[:l-1]
		p.kept -= 1 << c
		p.mu.Unlock()
		s.Bytes = s.Bytes[:n]
		return s, nil
	}
	p.mu.Unlock()
	s, err := p.domain.Alloc(1<<c, access)
	if err != nil {
		return s, err
	}
	// Limit the capacity: more memory of the Domain may follow.
	s.Bytes = s.Bytes[: n : 1<<c]
	return s, nil
}

// put takes back memory that get returned for access.
func (p *pool) put(s transport.Slice, access transport.Access) {
	if s.Bytes == nil {
		return
	}
	s.Bytes = s.Bytes[:cap(s.Bytes)]
	poison.Bytes(s.Bytes)
	c := class(len(s.Bytes))
	p.mu.Lock()
	if p.kept+len(s.Bytes) <= p.limit {
		p.kept += len(s.Bytes)
		free := &p.classes[access][c]
		*free = append(*free, s)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.domain.Free(s)
}

// close gives all unused memory back to the Domain. Memory that is put back later goes there, too.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = 0
	for a := range p.classes {
		for c, free := range p.classes[a] {
			for _, s := range free {
				p.domain.Free(s)
			}
			p.classes[a][c] = nil
		}
	}
	for _, l := range p.receives {
		for _, r := range l.free {
			p.free(r)
		}
		l.free = nil
	}
	p.kept = 0
}
