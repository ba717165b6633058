package rc

import "github.com/rpcrdma/go-rpcrdma/transport"

// cursor is a position in the bytes of a list.
type cursor struct {
	list []transport.Slice
	off  int // in the first element
}

// seek moves to byte n of a list.
func (c *cursor) seek(list []transport.Slice, n int) {
	c.list, c.off = list, 0
	c.skip(n)
}

func (c *cursor) skip(n int) {
	for len(c.list) > 0 && n >= len(c.list[0].Bytes)-c.off {
		n -= len(c.list[0].Bytes) - c.off
		c.list, c.off = c.list[1:], 0
	}
	c.off += n
}

// read fills p from the list, and moves on.
func (c *cursor) read(p []byte) {
	for len(p) > 0 {
		n := copy(p, c.list[0].Bytes[c.off:])
		p = p[n:]
		c.skip(n)
	}
}

// write copies p to the list, and moves on.
func (c *cursor) write(p []byte) {
	for len(p) > 0 {
		n := copy(c.list[0].Bytes[c.off:], p)
		p = p[n:]
		c.skip(n)
	}
}
