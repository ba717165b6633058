package gateway

import (
	"math/bits"
	"sync"
)

// free is how long a reply may be, in bytes, that is not counted.
const free = 4 << 10

// Buffers come in classes of powers of two.
const (
	minClass = 12 // 4 KiB
	maxClass = 30 // 1 GiB
)

// classOf returns the smallest class that holds n bytes.
func classOf(n int) int { return max(minClass, bits.Len(uint(max(n, 1)-1))) }

// cost returns the memory in bytes that n bytes take.
func cost(n int) int64 {
	if n <= free {
		return 0
	}
	return 1 << classOf(n)
}

// buffer is where the bulk data of a reply lands.
type buffer struct {
	data  []byte
	class int
}

// bufferPool keeps buffers that are not in use. That of rpcrdma is another: its memory is
// registered with a provider, for one kind of access, and is given back to it.
type bufferPool [maxClass + 1]sync.Pool

// get returns a buffer with room for n bytes.
func (p *bufferPool) get(n int) *buffer {
	class := classOf(n)
	if b, ok := p[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 1<<class), class}
}

func (p *bufferPool) put(b *buffer) { p[b.class].Put(b) }
