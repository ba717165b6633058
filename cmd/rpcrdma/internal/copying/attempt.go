package copying

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// attempt copies a file as it is now. The error is words.ErrChanged if it changes meanwhile.
func (c *copier) attempt(ctx context.Context, f *Item, again bool) error {
	var known *details
	if !again && c.isSmall(f) {
		known = &f.details
	}
	from, err := f.from.open(ctx, f.name, known)
	if err != nil {
		return c.ifChanged(f, 0, err)
	}
	defer from.Close()
	if again {
		now, err := f.from.state(from)
		if err != nil {
			return c.ifChanged(f, f.size, words.About(f.source(), err))
		}
		now.name, f.details = f.details.name, now
		c.bar.Skip(-f.size) // this attempt counts it again
	}
	f.verified = 0
	return c.write(ctx, f, func(to content) error {
		err := c.fill(ctx, to, from, f)
		if err == nil {
			return nil
		}
		at, _ := from.Seek(0, io.SeekCurrent) // 0 on errors
		return c.ifChanged(f, at, err)
	})
}

// fill copies the content of a file, and checks that it has not changed meanwhile.
func (c *copier) fill(ctx context.Context, to, from content, f *Item) error {
	if c.resumes(f) {
		if err := c.resume(to, from, f); err != nil {
			return err
		}
	}
	if err := c.transfer(ctx, to, from, f); err != nil {
		return err
	}
	now, err := f.from.state(from)
	if err == nil && !f.sameContent(&now) {
		err = words.ErrChanged
	}
	return words.About(f.source(), err)
}

// sameContent reports whether the size and the times of a file have stayed the same between two
// looks at it.
func (d *details) sameContent(now *details) bool {
	return d.size == now.size && d.mtime.Equal(now.mtime) && d.ctime.Equal(now.ctime)
}

// ifChanged returns words.ErrChanged if err says that the source is stale. The attempt has copied
// the first bytes of it.
func (c *copier) ifChanged(f *Item, copied int64, err error) error {
	if !f.stale(err) {
		return err
	}
	c.bar.Skip(f.size - copied) // the next attempt counts it again
	return words.About(f.source(), words.ErrChanged)
}

// stale reports whether an error says that the source was removed, or replaced by RENAME, after it
// was found (NFS3ERR_STALE; ESTALE if this host mounts it). An error of LOOKUP is about the
// directory.
func (f *Item) stale(err error) bool {
	var about *words.AboutError
	if !errors.As(err, &about) || about.Name != f.source() {
		return false // it is about the copy
	}
	var call *nfsclient.Error
	if errors.As(err, &call) && call.Op == nfs3.ProcLookup.String() {
		return false
	}
	return errors.Is(err, nfs3.ErrStale) || errors.Is(err, syscall.ESTALE)
}
