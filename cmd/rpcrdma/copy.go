package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// copyOptions are what get and put are told.
type copyOptions struct {
	recursive bool
	preserve  bool
	sparse    bool
	quiet     bool
}

// copiers is how many files are copied at the same time: of a small one it is the server's answers that take the time.
const copiers = 8

// largeFile is from when on files are copied one at a time: they have enough calls under way alone, and memory for those.
const largeFile = 4 << 20

// copier copies files from one place to another.
type copier struct {
	copyOptions
	verb     string // "get" or "put"
	transfer func(ctx context.Context, to, from content, f *copyItem) error
	bar      *bar       // and where messages go
	work     *work      // which knows who calls
	large    sync.Mutex // held while a large file is copied

	failed atomic.Bool // something was not copied, or not in full
	gone   atomic.Bool // the server cannot be reached: nothing else will work
}

// copyItem is a file to copy, or what is in a directory.
type copyItem struct {
	details
	from, to place
	name     string   // in from
	as       string   // in to
	dir      *copyDir // nil: it was named itself
	stream   bool     // it has no details to keep
}

// bytes returns how much there is to copy.
func (f *copyItem) bytes() int64 {
	if !f.mode.IsRegular() {
		return 0
	}
	return f.size
}

// report tells an error of one file. It returns an error when there is no point in going on.
func (c *copier) report(ctx context.Context, err error) error {
	if left := new(leftError); errors.As(err, &left) { // also if nothing else is to be said
		defer c.tell(left.left)
		err = left.err
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(usageError)):
		return err
	case c.gone.Load(): // the one that found it has told
		return errReported
	}
	c.failed.Store(true)
	c.tell(err)
	// A server that does not accept one call may accept others.
	if errors.As(err, new(*oncrpc.CallError)) && !errors.As(err, new(*oncrpc.AcceptError)) {
		c.gone.Store(true)
		return errReported
	}
	return nil
}

// tell writes a message.
func (c *copier) tell(err error) {
	fmt.Fprintln(c.bar, cut("rpcrdma "+c.verb+" "+c.work.reason(err)))
}

// all copies files, and what is in directories.
func (c *copier) all(ctx context.Context, items []copyItem) error {
	c.bar.begin(c.verb, 0)
	defer c.bar.end()
	trees := false
	for i := range items {
		if items[i].mode.IsDir() {
			trees = true
		} else {
			c.bar.grow(items[i].bytes())
		}
	}
	if !trees {
		c.bar.complete()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(copiers)
	w := &copyWalk{copier: c, group: g}
	err := w.items(ctx, items)
	c.bar.complete()
	if e := g.Wait(); err == nil || errors.Is(err, context.Canceled) {
		err = e
	}
	return err
}

// one copies anything but a directory.
func (c *copier) one(ctx context.Context, f *copyItem) error {
	switch f.mode.Type() {
	case 0:
		return c.file(ctx, f)
	case fs.ModeSymlink:
		return c.link(ctx, f)
	}
	return about(f.from.show(f.name), errSpecial)
}
