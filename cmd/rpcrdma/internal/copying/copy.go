package copying

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// Options are the flags of get, put and cp.
type Options struct {
	Recursive bool
	preserve  bool
	asName    bool // the target is no directory to copy into
	sparse    bool
	need
	partial bool
	limit   cli.Size // bytes per second; 0: no limit
	telling
}

// copier copies files from one place to another.
type copier struct {
	Options
	teller
	turns
	transfer func(ctx context.Context, to, from content, f *Item) error
	pace     *pace

	foreseen bool        // foresee tells the bar what is in directories
	notOwned atomic.Bool // the caller may not give files away
}

// Item is a file to copy, or a directory.
type Item struct {
	details
	from, to place
	name     string // name in from
	as       string // name in to
	dir      *dir   // nil: the command line names it
	stream   bool   // a device or a FIFO, without details to keep

	looked bool     // there is known
	there  *details // what has the name as already; nil: nothing

	verified int64 // bytes from the start that the copy already has
}

// source and target are the names of the file in messages.
func (f *Item) source() string { return f.from.show(f.name) }
func (f *Item) target() string { return f.to.show(f.as) }

// bytes returns how much there is to copy.
func (f *Item) bytes() int64 {
	if !f.mode.IsRegular() {
		return 0
	}
	return f.size
}

// all copies files, and directories with their contents.
func (c *copier) all(ctx context.Context, items []Item) error {
	c.bar.Begin(c.verb, 0)
	defer c.bar.End()
	trees := false
	for i := range items {
		if items[i].mode.IsDir() {
			trees = true
		} else {
			c.bar.Grow(items[i].bytes())
		}
	}
	if !trees {
		c.bar.Complete()
	} else if c.bar.Terminal {
		c.foreseen = true
		ctx, cancel := context.WithCancel(ctx)
		var seen sync.WaitGroup
		seen.Go(func() { foresee(ctx, c.bar, items) })
		defer seen.Wait()
		defer cancel()
	}
	g, ctxOfAll := errgroup.WithContext(ctx)
	g.SetLimit(copiers)
	c.medium = make(chan struct{}, mediumCopiers)
	w := &walk{copier: c, group: g}
	last, done := lasting(ctx)
	defer done()
	w.named(ctx, items)
	err := w.items(ctxOfAll, items)
	c.bar.Complete()
	if e := g.Wait(); err == nil || errors.Is(err, context.Canceled) {
		err = e
	}
	if err == nil {
		err = w.sweep(ctx)
	}
	if err == nil {
		err = w.retry(ctx)
	}
	if ctx.Err() != nil {
		w.unfinished.leave(last)
	}
	return err
}

// one copies anything except a directory.
func (c *copier) one(ctx context.Context, f *Item) error {
	if err := c.skip(ctx, f); err != nil {
		return err
	}
	if f.dir != nil {
		f.dir.changed.Store(true)
	}
	switch t := f.mode.Type(); {
	case t != 0 && t != fs.ModeSymlink:
		return words.About(f.from.show(f.name), words.ErrSpecial)
	case c.dryRun:
		return c.dry(ctx, f)
	case t == fs.ModeSymlink:
		return c.link(ctx, f)
	}
	return c.file(ctx, f)
}
