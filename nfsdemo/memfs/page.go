package memfs

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
)

const (
	blockShift = 16
	blockSize  = 1 << blockShift // largest page
	pageShift  = 9               // of the smallest page
)

// spare is how many bytes of pages the pool may have above the capacity. It is for data that is
// fetched while the file system is full.
const spare = 16 << 20

// page is memory for one block of one file.
type page struct {
	refs atomic.Int32
	pool *pagePool
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

// pageSize returns the size of the smallest page that holds n bytes.
func pageSize(n int) int { return 1 << sizeclass.Of(n, pageShift) }

// pagePool keeps unused pages. If it left them to the garbage collector, the heap would grow to
// twice the memory in use. It drops unused pages for pages of other sizes, so it has at most most
// bytes, or what is in use.
type pagePool struct {
	most int64 // the capacity and spare

	mu    sync.Mutex // guards what follows
	inUse int64      // bytes of pages in use
	free  sizeclass.Lists[*page]
}

// get returns a page of at least n bytes, with one reference and arbitrary contents.
func (pp *pagePool) get(n int) *page {
	size := pageSize(n)
	pp.mu.Lock()
	p, ok := pp.free.Take(sizeclass.Of(size, 0))
	pp.inUse += int64(size)
	pp.trim()
	pp.mu.Unlock()
	if !ok {
		p = &page{pool: pp, buf: make([]byte, size)}
	}
	p.n = 0
	p.refs.Store(1)
	return p
}

func (pp *pagePool) put(p *page) {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	pp.inUse -= int64(len(p.buf))
	pp.free.Put(sizeclass.Of(len(p.buf), 0), p)
	pp.trim()
}

// trim drops unused pages that exceed most. pp.mu is held.
func (pp *pagePool) trim() { pp.free.Drop(pp.most-pp.inUse, func(*page) {}) }

// zeroBlock is the contents of holes.
var zeroBlock [blockSize]byte
