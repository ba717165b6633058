package nfsfs

import "sync"

// buffer is memory for the data of a READ, or of WRITEs.
type buffer struct {
	mem  []byte
	used int // bytes of WRITEs in it
	refs int // spans in it, and other users
}

// smallBuffer is the size in bytes of the first buffer of a file that is written by small WRITEs.
const smallBuffer = 64 << 10

// buffers keeps memory that is not in use.
type buffers struct {
	large sync.Pool // *buffer of the size of a READ or WRITE
	small sync.Pool // *buffer of at most smallBuffer bytes
}

// get returns a buffer of n bytes.
func (p *buffers) get(n int) *buffer {
	pool := &p.large
	if n <= smallBuffer {
		pool = &p.small
	}
	b, _ := pool.Get().(*buffer)
	if b == nil || cap(b.mem) < n {
		b = &buffer{mem: make([]byte, n)}
	}
	*b = buffer{mem: b.mem[:n]}
	return b
}

// put returns a buffer to the pool.
func (p *buffers) put(b *buffer) {
	if cap(b.mem) <= smallBuffer {
		p.small.Put(b)
	} else {
		p.large.Put(b)
	}
}
