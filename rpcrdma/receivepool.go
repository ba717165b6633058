package rpcrdma

import (
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// receive is a posted receive and its memory: one buffer, or, with an alignment, two. Then the
// second is aligned and takes what lies from there on in the message.
type receive struct {
	transport.RecvRequest
	header  Header // of the message
	message message
	home    *receiveList
	list    [2]transport.Slice
	mem     [2]transport.Slice // what the domain has allocated for them
	index   int                // in supply.posted
}

// receiveKind is what receives have in common that can stand in for each other.
type receiveKind struct {
	size  int // bytes
	align int // of the second buffer; 0: there is one
}

// memory returns how many bytes a receive takes: some are lost to the alignment.
func (k receiveKind) memory() int { return k.size + max(0, k.align-1) }

// parts returns the first n bytes of the message in r, by buffer.
func (r *receive) parts(n int) (first, second []byte) {
	first = r.list[0].Bytes
	if n <= len(first) {
		return first[:n:n], nil
	}
	n -= len(first)
	return first, r.list[1].Bytes[:n:n]
}

// receiveList is the receives of a kind that lie unused.
type receiveList struct {
	kind receiveKind
	free []*receive // guarded by pool.mu
}

// maxKeptSegments is the most segments of a message whose chunk lists keep their memory for that of
// another one.
const maxKeptSegments = 64

// list returns the list of a kind, for getReceive.
func (p *pool) list(kind receiveKind) *receiveList {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.receives[kind]
	if l == nil {
		l = &receiveList{kind: kind}
		p.receives[kind] = l
	}
	return l
}

// getReceive returns a receive, which is not posted.
func (p *pool) getReceive(l *receiveList) (*receive, error) {
	p.mu.Lock()
	if n := len(l.free); n > 0 {
		r := l.free[n-1]
		l.free = l.free[:n-1]
		p.kept -= l.kind.memory()
		p.mu.Unlock()
		return r, nil
	}
	p.mu.Unlock()
	return p.newReceive(l)
}

func (p *pool) newReceive(l *receiveList) (*receive, error) {
	kind := l.kind
	r := &receive{home: l}
	r.Context = r
	first := kind.size
	if kind.align > 0 {
		first = kind.align
	}
	var err error
	if r.mem[0], err = p.domain.Alloc(first, transport.LocalWrite); err != nil {
		return nil, err
	}
	r.list[0] = r.mem[0]
	r.Local = r.list[:1]
	if kind.align == 0 {
		return r, nil
	}
	if r.mem[1], r.list[1], err = p.aligned(kind.size-first, kind.align); err != nil {
		p.domain.Free(r.mem[0])
		return nil, err
	}
	r.Local = r.list[:]
	return r, nil
}

// aligned allocates n bytes at a multiple of align, and returns the allocation and these of it.
func (p *pool) aligned(n, align int) (mem, s transport.Slice, err error) {
	if mem, err = p.domain.Alloc(n+align-1, transport.LocalWrite); err != nil {
		return mem, s, err
	}
	past := int(uintptr(unsafe.Pointer(unsafe.SliceData(mem.Bytes))) % uintptr(align))
	return mem, mem.Sub((align-past)%align, n), nil
}

func (p *pool) putReceive(r *receive) {
	for _, s := range r.mem {
		poison.Bytes(s.Bytes)
	}
	r.message = message{}
	if r.header.Segments() > maxKeptSegments {
		r.header.Lists = chunks.Lists{}
	}
	p.mu.Lock()
	if l := r.home; p.kept+l.kind.memory() <= p.limit {
		p.kept += l.kind.memory()
		l.free = append(l.free, r)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.free(r)
}

// free gives the memory of a receive back to the domain.
func (p *pool) free(r *receive) {
	for _, s := range r.mem {
		if s.Bytes != nil {
			p.domain.Free(s)
		}
	}
}
