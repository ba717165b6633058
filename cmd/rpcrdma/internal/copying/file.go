package copying

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// file copies a regular file. Under its final name there is always the complete copy, or what was
// there before. If the source changes meanwhile, it is copied once more.
func (c *copier) file(ctx context.Context, f *Item) error {
	defer c.turn(f.size, c.isSmall(f))()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.attempt(ctx, f, false)
	if errors.Is(err, words.ErrChanged) {
		err = c.attempt(ctx, f, true)
	}
	return err
}

// write makes a file with the content that fill writes.
func (c *copier) write(ctx context.Context, f *Item, fill func(to content) error) (err error) {
	keep, times, err := c.keeps(ctx, f)
	if err != nil {
		return err
	}
	perm := f.mode.Perm()
	if keep == nil && c.resumes(f) {
		keep = &details{mode: perm &^ remote.Umask, uid: -1}
	}
	if keep != nil {
		perm = 0o600 // it may be for fewer users than the umask allows
	}
	to, temp, err := c.begin(ctx, f, perm)
	if err != nil {
		_, atServer := f.to.(*remoteDir)
		named := c.named(f, temp, err)
		if atServer && (!errors.As(err, new(nfs3.Status)) || words.DoneBefore(err, nfs3.ErrExist)) {
			return c.discard(ctx, f.to, temp, named)
		}
		return named
	}
	defer to.Close()
	defer func() {
		if err != nil {
			err = c.abandon(ctx, f, temp, err)
		}
	}()
	err = fill(to)
	if e := f.to.stored(to); err == nil {
		err = words.About(f.to.show(f.as), e)
	}
	if err != nil {
		return err
	}
	var lost error
	if keep != nil {
		lost = c.named(f, temp, f.to.keep(ctx, temp, *keep, times, to))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.to.rename(ctx, temp, f.as, to); err != nil {
		if there, e := f.to.lstat(ctx, f.as); e == nil && there.mode.IsDir() {
			err = words.About(f.to.show(f.as), words.ErrOverDir)
		}
		return err
	}
	if lost != nil {
		_ = c.report(ctx, lost) // the file is there
	}
	return nil
}

// keeps returns the details to set when the file has been written: those of the source, or of the
// file that it replaces; nil if none.
func (c *copier) keeps(ctx context.Context, f *Item) (d *details, times bool, err error) {
	if c.preserve && !f.stream {
		return &f.details, true, nil
	}
	has, err := c.existing(ctx, f)
	switch {
	case err != nil || has == nil:
		return nil, false, err
	case has.mode.IsDir():
		return nil, false, words.About(f.to.show(f.as), words.ErrOverDir)
	case !has.mode.IsRegular():
		return nil, false, nil
	}
	there := *has
	there.mode &= fs.ModePerm // writing clears the other bits
	return &there, false, nil
}

// named changes an error about the temporary file to one about the file.
func (c *copier) named(f *Item, temp string, err error) error {
	var e *words.AboutError
	if errors.As(err, &e) && e.Name == f.to.show(temp) {
		return &words.AboutError{Name: f.to.show(f.as), Err: e.Err}
	}
	return err
}

// discard removes an incomplete file. It returns why, and what may be left.
func (c *copier) discard(ctx context.Context, to place, temp string, why error) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	err := to.remove(ctx, temp)
	// the error may be about the directory
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.Is(err, nfs3.ErrStale)) {
		return &words.LeftError{Err: why, Left: words.MaybeLeft(to.show(temp), err)}
	}
	return why
}
