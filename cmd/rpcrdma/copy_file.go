package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// temporary returns a name for a file that is not complete yet, beside its final name. That is not part of it: it may be as long
// as a name can be.
func temporary(name string) string {
	return path.Join(path.Dir(name), ".rpcrdma-"+strings.ToLower(rand.Text()[:10]))
}

// file copies a regular file. Under its final name it is complete, or what it was before.
func (c *copier) file(ctx context.Context, f *copyItem) error {
	if f.size >= largeFile {
		c.large.Lock()
		defer c.large.Unlock()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := f.from.open(ctx, f.name)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.write(ctx, f, func(to content) error { return c.transfer(ctx, to, from, f) })
}

// write makes a file with what fill writes.
func (c *copier) write(ctx context.Context, f *copyItem, fill func(to content) error) (err error) {
	keep, times, err := c.keeps(ctx, f)
	if err != nil {
		return err
	}
	perm := f.mode.Perm()
	if keep != nil {
		perm = 0o600 // it may be for fewer people than the umask says
	}
	temp := temporary(f.as)
	to, err := f.to.create(ctx, temp, perm)
	if err != nil {
		if _, remote := f.to.(*remoteDir); remote && !errors.As(err, new(nfs3.Status)) {
			c.discard(ctx, f.to, temp)
		}
		return c.named(f, temp, err)
	}
	defer func() {
		if err != nil {
			c.discard(ctx, f.to, temp)
		}
	}()
	err = fill(to)
	if e := to.Close(); err == nil {
		err = about(f.to.show(f.as), e)
	}
	if err != nil {
		return err
	}
	var lost error
	if keep != nil {
		lost = c.named(f, temp, f.to.keep(ctx, temp, *keep, times))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.to.rename(ctx, temp, f.as); err != nil {
		if there, e := f.to.lstat(ctx, f.as); e == nil && there.mode.IsDir() {
			err = about(f.to.show(f.as), errOverDir)
		}
		return err
	}
	if lost != nil {
		_ = c.report(ctx, lost) // the file is there
	}
	return nil
}

// keeps returns what the file is to be given when it has been written, nil if nothing: what it was, or what a file has that it
// replaces.
func (c *copier) keeps(ctx context.Context, f *copyItem) (d *details, times bool, err error) {
	if c.preserve && !f.stream {
		return &f.details, true, nil
	}
	if f.dir != nil && f.dir.made {
		return nil, false, nil
	}
	there, err := f.to.lstat(ctx, f.as)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case there.mode.IsDir():
		return nil, false, about(f.to.show(f.as), errOverDir)
	case !there.mode.IsRegular():
		return nil, false, nil
	}
	there.mode &= fs.ModePerm // writing takes the rest away
	return &there, false, nil
}

// named makes an error about the temporary file one about the file.
func (c *copier) named(f *copyItem, temp string, err error) error {
	var e *placeError
	if errors.As(err, &e) && e.name == f.to.show(temp) {
		return &placeError{f.to.show(f.as), e.err}
	}
	return err
}

// discard removes what was not completed.
func (c *copier) discard(ctx context.Context, to place, temp string) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	if err := to.remove(ctx, temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.tell(fmt.Errorf("%w: an incomplete file may be left of that name", err))
	}
}

// link copies a symbolic link.
func (c *copier) link(ctx context.Context, f *copyItem) error {
	target, err := f.from.readlink(ctx, f.name)
	if err != nil {
		return err
	}
	name := f.as
	if err = f.to.symlink(ctx, target, name); errors.Is(err, fs.ErrExist) {
		if there, e := f.to.lstat(ctx, f.as); e == nil && there.mode.IsDir() {
			return about(f.to.show(f.as), errOverDir)
		}
		name = temporary(f.as)
		err = f.to.symlink(ctx, target, name)
	}
	if err != nil {
		return c.named(f, name, err)
	}
	var lost error
	if c.preserve {
		lost = c.named(f, name, f.to.keep(ctx, name, f.details, true))
	}
	if name != f.as {
		if err := f.to.rename(ctx, name, f.as); err != nil {
			c.discard(ctx, f.to, name)
			return err
		}
	}
	return lost
}
