package memfs

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	blockShift = 16
	blockSize  = 1 << blockShift // largest page
	pageShift  = 9               // of the smallest page
	classes    = blockShift - pageShift + 1
	slabPages  = 16 // largest pages that are allocated together
)

// page is memory for one block of one file.
type page struct {
	refs atomic.Int32
	pool *pagePool
	next *page // in the free list
	buf  []byte
	// n is how much of buf holds data. The block reads as zeros behind. It is guarded by the
	// lock of the node whose page it is.
	n int
}

// hold adds a reference. The caller has one, or the lock under which a node has.
func (p *page) hold() { p.refs.Add(1) }

// drop takes a reference away.
func (p *page) drop() {
	if p.refs.Add(-1) == 0 {
		p.pool.put(p)
	}
}

// shared reports whether anybody but the node refers to p. The node's lock is held,
// so that what is not shared does not become so.
func (p *page) shared() bool { return p.refs.Load() > 1 }

// class returns the index of the smallest size of pages that holds n bytes.
func class(n int) int { return max(0, bits.Len(uint(n-1))-pageShift) }

// pageSize returns the size of the smallest page that holds n bytes.
func pageSize(n int) int { return 1 << (class(n) + pageShift) }

// pagePool keeps pages that nobody refers to. They stay with the file system: garbage of
// this size would let the heap grow to twice what is in use before it is collected.
type pagePool struct {
	mu   sync.Mutex // guards what follows
	free [classes]*page
	out  int // pages that are referred to
}

// get returns a page of at least n bytes with one reference. What is in it is
// unspecified.
func (pp *pagePool) get(n int) *page {
	c := class(n)
	pp.mu.Lock()
	p := pp.free[c]
	if p == nil {
		p = pp.alloc(c)
	}
	pp.free[c] = p.next
	pp.out++
	pp.mu.Unlock()
	p.next = nil
	p.n = 0
	p.refs.Store(1)
	return p
}

func (pp *pagePool) put(p *page) {
	c := class(len(p.buf))
	pp.mu.Lock()
	p.next = pp.free[c]
	pp.free[c] = p
	pp.out--
	pp.mu.Unlock()
}

// alloc returns a list of new pages.
func (pp *pagePool) alloc(c int) *page {
	size, n := 1<<(c+pageShift), 1
	if size == blockSize {
		n = slabPages
	}
	mem := make([]byte, n*size)
	pages := make([]page, n)
	for i := range pages {
		pages[i].pool = pp
		pages[i].buf = mem[i*size : (i+1)*size : (i+1)*size]
		if i+1 < n {
			pages[i].next = &pages[i+1]
		}
	}
	return &pages[0]
}

// zeroBlock is what holes read as.
var zeroBlock [blockSize]byte
