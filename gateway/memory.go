package gateway

import (
	"math/bits"
	"sync"
)

// free is the length in bytes of a reply that takes no reservation.
const free = 4 << 10

// Buffers have sizes in powers of two.
const (
	minClass = 12 // 4 KiB
	maxClass = 30 // 1 GiB
)

// classOf returns the class of the smallest buffer that holds n bytes.
func classOf(n int) int { return max(minClass, bits.Len(uint(max(n, 1)-1))) }

// cost returns how many bytes to reserve for a reply of n bytes.
func cost(n int) int64 {
	if n <= free {
		return 0
	}
	return 1 << classOf(n)
}

// buffer receives the bulk data of a reply.
type buffer struct {
	data  []byte
	class int
}

// bufferPool keeps unused buffers. It cannot share rpcrdma's pool, whose memory is registered with
// a provider for one kind of access.
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
