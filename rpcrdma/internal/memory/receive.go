package memory

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Receive is a posted receive and its memory: one buffer, or with an alignment two. Then the second
// one is aligned, and holds the message from that offset on.
type Receive struct {
	transport.RecvRequest
	Header  wire.Header // of the message
	Message wire.Message

	home  *receiveList
	list  [2]transport.Slice
	mem   [2]transport.Slice // the allocations of the Domain for them
	index int                // index in Receives.posted
}

// Size returns the length in bytes of the longest message that it holds.
func (r *Receive) Size() int { return r.home.kind.size }

// Parse parses the header of a message of size bytes. It returns the length of the header, and what
// follows it in the first and second buffer.
func (r *Receive) Parse(size int) (n int, body, more []byte, err error) {
	body, more = r.parts(size)
	n, err = r.Header.Parse(body)
	// the header, or the first words of the message, lie across both buffers: join them
	if more != nil && (errors.Is(err, wire.ErrMalformed) || n+8 > len(body)) {
		body, more = append(slices.Clip(body), more...), nil
		n, err = r.Header.Parse(body)
	}
	return n, body[n:], more, err
}

// receiveKind is a kind of receives. Those of one kind are interchangeable.
type receiveKind struct {
	size  int // bytes
	align int // alignment of the second buffer; 0: there is none
}

// memory returns how many bytes a receive takes, including those lost to the alignment.
func (k receiveKind) memory() int { return ReceiveBytes(k.size, k.align) }

// ReceiveBytes returns how many bytes of memory a receive takes for messages of size bytes, if its
// second buffer has that alignment; 0: there is none.
func ReceiveBytes(size, align int) int { return size + max(0, align-1) }

// parts returns the first n bytes of the message in r: its parts in the first and second buffer.
func (r *Receive) parts(n int) (first, second []byte) {
	first = r.list[0].Bytes
	if n <= len(first) {
		return first[:n:n], nil
	}
	n -= len(first)
	return first, r.list[1].Bytes[:n:n]
}

// receiveList has the unused receives of a kind.
type receiveList struct {
	kind receiveKind
	free []*Receive // guarded by pool.mu
}

// maxKeptSegments is the most segments for which an unused receive keeps the memory of its chunk
// lists.
const maxKeptSegments = 64

// list returns the list of a kind, for getReceive.
func (p *Pool) list(kind receiveKind) *receiveList {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.receives[kind]
	if l == nil {
		l = &receiveList{kind: kind}
		p.receives[kind] = l
	}
	return l
}

// getReceive returns a receive to post.
func (p *Pool) getReceive(l *receiveList) (*Receive, error) {
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

func (p *Pool) newReceive(l *receiveList) (*Receive, error) {
	kind := l.kind
	r := &Receive{home: l}
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

// aligned allocates n bytes at a multiple of align. It returns the allocation mem and those bytes
// s.
func (p *Pool) aligned(n, align int) (mem, s transport.Slice, err error) {
	if mem, err = p.domain.Alloc(n+align-1, transport.LocalWrite); err != nil {
		return mem, s, err
	}
	past := int(uintptr(unsafe.Pointer(unsafe.SliceData(mem.Bytes))) % uintptr(align))
	return mem, mem.Sub((align-past)%align, n), nil
}

func (p *Pool) putReceive(r *Receive) {
	for _, s := range r.mem {
		poison.Bytes(s.Bytes)
	}
	r.Message = wire.Message{}
	if r.Header.Segments() > maxKeptSegments {
		r.Header.Lists = chunks.Lists{}
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

// free gives the memory of a receive back to the Domain.
func (p *Pool) free(r *Receive) {
	for _, s := range r.mem {
		if s.Bytes != nil {
			p.domain.Free(s)
		}
	}
}
