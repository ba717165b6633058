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
)

// spare is how many bytes of pages the pool may have above the capacity. It is for data that is
// fetched while the file system is full.
const spare = 16 << 20

// page is memory for one block of one file.
type page struct {
	refs atomic.Int32
	pool *pagePool
	next *page // in the free list
	buf  []byte
	// n is how many bytes of buf are data. The rest of the block reads as zeros. It is guarded by
	// the lock of the page's node.
	n int
}

// hold adds a reference. The caller has one, or holds the lock of a node that has one.
func (p *page) hold() { p.refs.Add(1) }

// drop removes a reference.
func (p *page) drop() {
	if p.refs.Add(-1) == 0 {
		p.pool.put(p)
	}
}

// shared reports whether others than the node refer to p. The node's lock is held, so a page that
// is not shared stays so.
func (p *page) shared() bool { return p.refs.Load() > 1 }

// class returns the index of the smallest size of pages that holds n bytes.
func class(n int) int { return max(0, bits.Len(uint(n-1))-pageShift) }

// pageSize returns the size of the smallest page that holds n bytes.
func pageSize(n int) int { return 1 << (class(n) + pageShift) }

// pagePool keeps unused pages. If it left them to the garbage collector, the heap would grow to
// twice the memory in use. It drops unused pages for pages of other sizes, so it has at most
// capacity plus spare bytes, or what is in use. dirfs has a simpler pool, because its data is in
// files.
type pagePool struct {
	capacity int64

	mu    sync.Mutex // guards what follows
	free  [classes]*page
	out   int   // pages in use
	bytes int64 // of all pages, free or not
}

// get returns a page of at least n bytes, with one reference and arbitrary contents.
func (pp *pagePool) get(n int) *page {
	c := class(n)
	pp.mu.Lock()
	p := pp.free[c]
	if p != nil {
		pp.free[c] = p.next
	} else {
		pp.grow(1 << (c + pageShift))
	}
	pp.out++
	pp.mu.Unlock()
	if p == nil {
		p = &page{pool: pp, buf: make([]byte, 1<<(c+pageShift))}
	}
	p.next = nil
	p.n = 0
	p.refs.Store(1)
	return p
}

func (pp *pagePool) put(p *page) {
	c := class(len(p.buf))
	pp.mu.Lock()
	defer pp.mu.Unlock()
	pp.out--
	if pp.over() {
		pp.bytes -= int64(len(p.buf))
		return
	}
	p.next = pp.free[c]
	pp.free[c] = p
}

// over reports whether the pool has more bytes than it may keep. pp.mu is held.
func (pp *pagePool) over() bool { return pp.bytes-spare > pp.capacity }

// grow counts a new page. To make room it drops unused pages of other sizes. pp.mu is held.
func (pp *pagePool) grow(size int) {
	pp.bytes += int64(size)
	for c := classes - 1; c >= 0; c-- {
		for pp.over() && pp.free[c] != nil {
			pp.bytes -= int64(len(pp.free[c].buf))
			pp.free[c] = pp.free[c].next
		}
	}
}

// zeroBlock is the contents of holes.
var zeroBlock [blockSize]byte
