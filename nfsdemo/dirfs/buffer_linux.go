package dirfs

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
)

// maxBuffer is the size of the largest buffer in bytes.
const maxBuffer = 1 << 20

// buffers keeps buffers for the data of READ and WRITE. It differs from memfs's pool, whose pages
// are the contents of files.
type buffers struct {
	unused sizeclass.Buffers
	leases sync.Pool // *lease
}

// lease has the buffers for the data of one READ or WRITE.
type lease struct {
	from *buffers
	bufs []*sizeclass.Buffer
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
		b := p.unused.Get(k)
		l.bufs = append(l.bufs, b)
		l.data = append(l.data, b.Bytes[:k:k])
		n -= k
	}
	return l
}

// Release gives the buffers back.
func (l *lease) Release() {
	for _, b := range l.bufs {
		l.from.unused.Put(b)
	}
	clear(l.bufs)
	clear(l.data)
	l.bufs, l.data = l.bufs[:0], l.data[:0]
	l.from.leases.Put(l)
}
