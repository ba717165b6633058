package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"sync"
)

// special is a device, a FIFO or the like, which is opened when it is first used: that may wait for its other end.
type special struct {
	path string
	flag int

	mu     sync.Mutex // guards what follows, and is held while it is opened
	f      *os.File
	closed bool
}

func (s *special) open() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fs.ErrClosed
	}
	if s.f == nil {
		s.f, err = os.OpenFile(s.path, s.flag, 0)
	}
	return err
}

// close closes it, unless it is still being opened.
func (s *special) close() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.closed = true
	if s.f != nil {
		s.f.Close()
	}
}

func (s *special) Read(p []byte) (int, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	return s.f.Read(p)
}

func (s *special) Write(p []byte) (int, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	return s.f.Write(p)
}

// stream is a copy from or to something that is no regular file.
func (c *copier) stream(ctx context.Context, do func(ctx context.Context) error) error {
	c.bar.begin(c.verb, 0)
	defer c.bar.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return do(ctx)
}

// getStream copies a file of the server to w, which is known by some name.
func (c *copier) getStream(ctx context.Context, from *remoteDir, name string, w io.Writer, as string) error {
	return c.stream(ctx, func(ctx context.Context) error {
		d, err := from.stat(ctx, name)
		if err != nil {
			return err
		}
		if d.mode.IsDir() {
			return about(from.show(name), errDirectory)
		}
		c.bar.grow(d.size)
		c.bar.complete()
		f, err := from.open(ctx, name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteTo(&writer{interruptible{ctx, w}, as, c.bar})
		return about(from.show(name), err)
	})
}

// putStream copies what r has, which is known by some name, to a file of the server.
func (c *copier) putStream(ctx context.Context, r io.Reader, name string, to *remoteDir, as string) error {
	return c.stream(ctx, func(ctx context.Context) error {
		f := &copyItem{details: details{mode: rwAll, uid: -1}, to: to, as: as, stream: true}
		return c.write(ctx, f, func(content content) error {
			_, err := content.ReadFrom(&reader{interruptibleReader{ctx, r}, name, c.bar})
			return about(to.show(as), err)
		})
	})
}

// rwAll are the permissions of a new file whose source has none, before the umask.
const rwAll fs.FileMode = 0o666
