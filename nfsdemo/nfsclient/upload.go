package nfsclient

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// upload is an Upload under way.
type upload struct {
	c *Client
	h nfs3.FH
	t Transfer

	mu       sync.Mutex    // guards what follows
	unstable bool          // something was written that needs a COMMIT
	verf     nfs3.Verifier // of that
}

// Upload writes what r has to a file, from offset 0 on, and commits it. It returns the bytes read
// from r; with an error it is not known which of them the file has.
//
// When ctx ends or a WRITE fails, r is not read again, but a Read under way is waited for: who
// calls with an r that may block, such as a pipe, unblocks it.
func (c *Client) Upload(ctx context.Context, h nfs3.FH, r io.Reader, t Transfer) (int64, error) {
	u := &upload{c: c, h: h, t: t}
	if err := u.t.settle(ctx, c, h, func(i *nfs3.FSInfo) uint32 { return i.WtMax }); err != nil {
		return 0, err
	}
	n, err := u.run(ctx, r)
	if err != nil || !u.unstable {
		return n, err
	}
	verf, err := c.Commit(ctx, h, 0, 0)
	if err == nil && verf != u.verf {
		err = &Error{nfs3.ProcCommit.String(), "", ErrVerifier}
	}
	return n, err
}

// run reads r and writes its data, Parallel pieces at a time.
func (u *upload) run(ctx context.Context, r io.Reader) (int64, error) {
	g, ctx := errgroup.WithContext(ctx)
	slots := make(chan struct{}, u.t.Parallel)
	off := int64(0)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return off, cause(ctx, g.Wait())
		}
		b := u.c.buffer(u.t.Size)
		n, err := io.ReadFull(&source{ctx, r}, *b)
		at := uint64(off)
		off += int64(n)
		g.Go(func() error {
			err := u.write(ctx, at, (*b)[:n])
			u.c.buffers.Put(b)
			<-slots
			return err
		})
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return off, g.Wait()
		case err == errStopped:
			return off, cause(ctx, g.Wait())
		case err != nil:
			return off, errors.Join(err, g.Wait())
		}
	}
}

// source is a Reader that is not read behind the end of a context.
type source struct {
	ctx context.Context
	r   io.Reader
}

var errStopped = errors.New("the context has ended")

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, errStopped
	}
	return s.r.Read(p)
}

// cause is why a group of goroutines ended: an error of one, or their context's end.
func cause(ctx context.Context, err error) error {
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// write writes one piece, however many WRITEs the server makes of it.
func (u *upload) write(ctx context.Context, off uint64, p []byte) error {
	for len(p) > 0 {
		r, err := u.c.Write(ctx, u.h, off, p, nfs3.Unstable)
		if err == nil && r.N == 0 {
			err = &Error{nfs3.ProcWrite.String(), "", io.ErrShortWrite}
		}
		if err != nil {
			return err
		}
		if err := u.wrote(&r); err != nil {
			return err
		}
		off += uint64(r.N)
		p = p[r.N:]
	}
	return nil
}

// wrote keeps the books of the WRITEs: uncommitted data is safe as long as the verifier
// stays what it is.
func (u *upload) wrote(r *WriteResult) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Committed != nfs3.FileSync {
		if u.unstable && r.Verf != u.verf {
			return &Error{nfs3.ProcWrite.String(), "", ErrVerifier}
		}
		u.unstable, u.verf = true, r.Verf
	}
	u.t.Progress(r.N)
	return nil
}
