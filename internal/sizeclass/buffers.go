package sizeclass

import "sync"

// Buffers keeps unused Buffers until the garbage collector takes them. The zero value is ready for
// use. The methods may be called concurrently.
type Buffers [Largest + 1]sync.Pool

// Buffer is memory of a class, at least 4 KiB.
type Buffer struct {
	Bytes []byte // all of it
	class int
}

// Get returns a Buffer with room for n bytes, which are at most 1 GiB. Its contents are arbitrary.
func (p *Buffers) Get(n int) *Buffer {
	class := Of(n, smallestBuffer)
	if b, ok := p[class].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{make([]byte, 1<<class), class}
}

// Put takes a Buffer back.
func (p *Buffers) Put(b *Buffer) { p[b.class].Put(b) }
