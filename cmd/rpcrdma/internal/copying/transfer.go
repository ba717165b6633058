package copying

import (
	"context"
	"io"
	"os"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// reader and writer count what passes, and add the name of the local file to errors.
type reader struct {
	r     io.Reader
	name  string
	moved func(n int)
	wait  func(n int) error // waits until n bytes may pass; nil: no limit
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.wait != nil {
		if late := r.wait(n); late != nil {
			return 0, late
		}
	}
	r.moved(n)
	if err != nil && err != io.EOF {
		err = words.About(r.name, err)
	}
	return n, err
}

// reader returns a reader for a local source.
func (c *copier) reader(ctx context.Context, from io.Reader, name string) *reader {
	return &reader{from, name, c.moved, func(n int) error { return c.pace.waitFor(ctx, n) }}
}

type writer struct {
	w     io.Writer
	name  string
	moved func(n int)
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.moved(n)
	return n, words.About(w.name, err)
}

// fromServer copies the content of a file of the server to one of this host.
func (c *copier) fromServer(ctx context.Context, to, from content, f *Item) error {
	if c.isSmall(f) {
		return c.whole(ctx, to, from, f)
	}
	w := &writer{to, f.to.show(f.as), c.moved}
	if !c.sparse {
		_, err := from.WriteTo(w)
		return words.About(f.from.show(f.name), err)
	}
	holes := &holeWriter{w: to, off: f.verified}
	w.w = holes
	if _, err := from.WriteTo(w); err != nil {
		return words.About(f.from.show(f.name), err)
	}
	return words.About(w.name, to.Truncate(holes.off))
}

// toServer copies the content of a file of this host to one of the server.
func (c *copier) toServer(ctx context.Context, to, from content, f *Item) error {
	if c.isSmall(f) {
		return c.whole(ctx, to, from, f)
	}
	name := f.from.show(f.name)
	file, ok := from.(*os.File)
	if !c.sparse || !ok {
		_, err := to.ReadFrom(c.reader(ctx, from, name))
		return words.About(f.to.show(f.as), err)
	}
	info, err := file.Stat()
	if err != nil {
		return words.About(name, err)
	}
	size, err := c.putSparse(ctx, to, file, name, f.verified, info.Size())
	if err == nil {
		err = to.Truncate(size)
	}
	return words.About(f.to.show(f.as), err)
}
