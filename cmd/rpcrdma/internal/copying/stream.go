package copying

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// Special is a device or a FIFO. It is opened at first use, because opening may wait for the other
// end.
type Special struct {
	Path string
	Flag int

	Mu     sync.Mutex // guards what follows; held during open
	F      *os.File
	closed bool
}

func (s *Special) open() (err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.closed {
		return fs.ErrClosed
	}
	if s.F == nil {
		s.F, err = os.OpenFile(s.Path, s.Flag, 0)
	}
	return err
}

// Close closes it, unless it is still being opened.
func (s *Special) Close() {
	if !s.Mu.TryLock() {
		return
	}
	defer s.Mu.Unlock()
	s.closed = true
	if s.F != nil {
		s.F.Close()
	}
}

func (s *Special) Read(p []byte) (int, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	return s.F.Read(p)
}

func (s *Special) Write(p []byte) (int, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	return s.F.Write(p)
}

// stream is a copy from or to something other than a regular file.
func (c *copier) stream(ctx context.Context, do func(ctx context.Context) error) error {
	c.bar.Begin(c.verb, 0)
	defer c.bar.End()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return do(ctx)
}

// errTorn is about a source that changed while it was copied to a stream, which cannot start again.
var errTorn = errors.New("changed while it was read")

// getStream copies a file of the server to w. as is the name of w in messages.
func (c *copier) getStream(ctx context.Context, from *remoteDir, name string, w io.Writer, as string) error {
	return c.stream(ctx, func(ctx context.Context) error {
		d, err := from.stat(ctx, name)
		if err != nil {
			return err
		}
		if d.mode.IsDir() {
			return words.About(from.show(name), words.ErrDirectory)
		}
		c.bar.Grow(d.size)
		c.bar.Complete()
		source := Item{details: d, from: from, name: name}
		if err = c.fillStream(ctx, w, &source, as); source.stale(err) {
			err = words.About(source.source(), errTorn)
		}
		return err
	})
}

// fillStream copies the content of a file of the server, and checks that it has not changed
// meanwhile.
func (c *copier) fillStream(ctx context.Context, w io.Writer, f *Item, as string) error {
	from, err := f.from.open(ctx, f.name, nil)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err = from.WriteTo(&writer{cli.Interruptible{Ctx: ctx, W: w}, as, c.moved}); err != nil {
		return words.About(f.source(), err)
	}
	now, err := f.from.state(from)
	if err == nil && !f.sameContent(&now) {
		err = errTorn
	}
	return words.About(f.source(), err)
}

// putStream copies r to a file of the server. name is the name of r in messages.
func (c *copier) putStream(ctx context.Context, r io.Reader, name string, to *remoteDir, as string) error {
	return c.stream(ctx, func(ctx context.Context) error {
		f := &Item{details: details{mode: rwAll, uid: -1}, to: to, as: as, stream: true}
		return c.write(ctx, f, func(content content) error {
			_, err := content.ReadFrom(c.reader(ctx, cli.InterruptibleReader{Ctx: ctx, R: r}, name))
			return words.About(to.show(as), err)
		})
	})
}

// rwAll are the permissions of a new file whose source is a stream, before the umask.
const rwAll fs.FileMode = 0o666
