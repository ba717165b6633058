package dirfs

import (
	"math/bits"
	"sync"
)

const (
	minBuffer   = 4 << 10
	maxBuffer   = 1 << 20
	bufferSizes = 9 // each twice the one before

	// keepBuffers bounds the bytes of unused buffers.
	keepBuffers = 64 << 20
)

// buffers keeps buffers for the data of READ and WRITE. It differs from memfs's pool, whose pages
// are the contents of files.
type buffers struct {
	mu   sync.Mutex // guards what follows
	free [bufferSizes][][]byte
	kept int // bytes in free

	leases sync.Pool // *lease
}

// sizeClass returns the index of the smallest buffers that hold n bytes.
func sizeClass(n int) int { return bits.Len(uint(max(n-1, 0)) / minBuffer) }

// get returns a buffer for n bytes, at most maxBuffer, with arbitrary contents.
func (p *buffers) get(n int) []byte {
	c := sizeClass(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.free[c]; len(free) > 0 {
		b := free[len(free)-1]
		free[len(free)-1] = nil
		p.free[c] = free[:len(free)-1]
		p.kept -= len(b)
		return b
	}
	return make([]byte, minBuffer<<c)
}

// put takes a buffer back. If there are too many, it drops buffers of the most frequent size.
func (p *buffers) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.kept+len(b) > keepBuffers {
		most := 0
		for c := range p.free {
			if len(p.free[c])<<c >= len(p.free[most])<<most {
				most = c
			}
		}
		free := p.free[most]
		p.kept -= len(free[len(free)-1])
		free[len(free)-1] = nil
		p.free[most] = free[:len(free)-1]
	}
	c := sizeClass(len(b))
	p.free[c] = append(p.free[c], b)
	p.kept += len(b)
}

// lease has the buffers for the data of one READ or WRITE.
type lease struct {
	from *buffers
	bufs [][]byte // whole
	data [][]byte // the used part of each
}

// lease returns buffers for n bytes.
func (p *buffers) lease(n int) *lease {
	l, _ := p.leases.Get().(*lease)
	if l == nil {
		l = &lease{from: p}
	}
	for n > 0 {
		k := min(n, maxBuffer)
		b := p.get(k)
		l.bufs = append(l.bufs, b)
		l.data = append(l.data, b[:k:k])
		n -= k
	}
	return l
}

// Release gives the buffers back.
func (l *lease) Release() {
	for _, b := range l.bufs {
		l.from.put(b)
	}
	clear(l.bufs)
	clear(l.data)
	l.bufs, l.data = l.bufs[:0], l.data[:0]
	l.from.leases.Put(l)
}
