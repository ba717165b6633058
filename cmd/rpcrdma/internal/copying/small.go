package copying

import (
	"context"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// smallFile is the largest size, in bytes, of a file that is read by one call, and written and
// stored by one call. Many such files are copied concurrently, because they mostly wait for the
// server.
const smallFile = 64 << 10

// smallBuffers has memory for the content of small files, and for one byte more, which shows that a
// file has grown.
var smallBuffers = sync.Pool{New: func() any { return new([smallFile + 1]byte) }}

// isSmall reports whether a file is copied in one piece.
func (c *copier) isSmall(f *Item) bool { return f.size <= smallFile && !f.stream && !c.sparse }

// whole copies a small file.
func (c *copier) whole(ctx context.Context, to, from content, f *Item) error {
	b := smallBuffers.Get().(*[smallFile + 1]byte)
	defer smallBuffers.Put(b)
	if err := c.pace.waitFor(ctx, int(f.size)); err != nil {
		return err
	}
	n, err := f.from.read(from, b[:f.size+1])
	if err != nil {
		return words.About(f.from.show(f.name), err)
	}
	c.moved(n)
	if n == 0 {
		return nil
	}
	_, err = to.WriteAt(b[:n], 0)
	return words.About(f.to.show(f.as), err)
}
