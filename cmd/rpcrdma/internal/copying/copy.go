package copying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Options are what get and put are told.
type Options struct {
	Recursive bool
	preserve  bool
	asName    bool // the target is no directory to copy into
	sparse    bool
	need
	dryRun  bool
	partial bool
	quiet   bool
	json    bool
	verbose bool
	limit   cli.Size // bytes a second; 0: none
}

// copiers is how many files are copied at the same time: of a small one it is the server's answers
// that take the time. It is as many as there are calls under way by default (--credits).
const copiers = 64

// mediumCopiers is how many of these files may be such that several calls have memory for each.
const mediumCopiers = 8

// largeFile is from when on files are copied one at a time: they have enough calls under way alone, and memory for those.
const largeFile = 4 << 20

// copier copies files from one place to another.
type copier struct {
	Options
	verb     string // "get" or "put"
	transfer func(ctx context.Context, to, from content, f *Item) error
	bar      *cli.Bar      // and where messages go
	work     *remote.Work  // which knows who calls
	results  io.Writer     // for --json
	foreseen bool          // the bar is told of what is in directories by foresee
	pace     *rate.Limiter // of bytes; nil: no limit
	began    time.Time
	large    sync.Mutex    // held while a large file is copied
	medium   chan struct{} // has an element for each file copied that is neither large nor small

	tally
	gone     atomic.Bool // the server cannot be reached: nothing else will work
	notOwned atomic.Bool // a file could not be given to the owner of its source

	dryMu sync.Mutex // held while something is written to dryTo
	dryTo io.Writer  // says what would be copied
}

// Item is a file to copy, or what is in a directory.
type Item struct {
	details
	from, to place
	name     string // in from
	as       string // in to
	dir      *dir   // nil: it was named itself
	stream   bool   // it has no details to keep

	looked bool     // there is what is known to have the name already
	there  *details // nil: nothing has it

	verified int64 // bytes from the start that the copy has already
}

// source and target are the names of the file as messages have them.
func (f *Item) source() string { return f.from.show(f.name) }
func (f *Item) target() string { return f.to.show(f.as) }

// bytes returns how much there is to copy.
func (f *Item) bytes() int64 {
	if !f.mode.IsRegular() {
		return 0
	}
	return f.size
}

// report tells an error of one file. It returns an error when there is no point in going on.
func (c *copier) report(ctx context.Context, err error) error {
	if left := new(words.LeftError); errors.As(err, &left) { // also if nothing else is to be said
		defer c.tell(left.Left)
		err = left.Err
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(cli.UsageError)):
		return err
	case c.gone.Load(): // the one that found it has told
		return cli.ErrReported
	}
	c.failed.Add(1)
	c.tell(err)
	// A server that does not accept one call may accept others.
	if errors.As(err, new(*oncrpc.CallError)) && !errors.As(err, new(*oncrpc.AcceptError)) {
		c.gone.Store(true)
		return cli.ErrReported
	}
	return nil
}

// settle counts a file that was copied, skipped, or neither because of an error, which it reports.
// It returns an error when there is no point in going on.
func (c *copier) settle(ctx context.Context, err error, from, to func() string) error {
	var why skippedError
	switch {
	case err == nil:
		c.files.Add(1)
		if c.verbose {
			fmt.Fprintf(c.bar, "%s -> %s\n", cli.Printable(from()), cli.Printable(to()))
		}
	case errors.As(err, &why):
		c.skipped.Add(1)
		if c.verbose {
			fmt.Fprintf(c.bar, "%s: %v\n", cli.Printable(from()), why)
		}
		return nil
	}
	return c.report(ctx, err)
}

// moved counts bytes of content that were transferred.
func (c *copier) moved(n int) {
	c.bar.Add(n)
	c.bytes.Add(int64(n))
}

// tell writes a message.
func (c *copier) tell(err error) {
	fmt.Fprintln(c.bar, cli.Cut("rpcrdma "+c.verb+" "+c.work.Reason(err)))
}

// expand returns the URLs of all files that URLs stand for. It reports those that stand for none.
func (c *copier) expand(ctx context.Context, r *remote.Session, urls []string) (all []string, err error) {
	for _, url := range urls {
		some, err := r.Expand(ctx, url)
		if err := c.report(ctx, words.About(url, err)); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// all copies files, and what is in directories.
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
		seen.Go(func() { c.foresee(ctx, items) })
		defer seen.Wait()
		defer cancel()
	}
	g, ctxOfAll := errgroup.WithContext(ctx)
	g.SetLimit(copiers)
	c.medium = make(chan struct{}, mediumCopiers)
	w := &walk{copier: c, group: g}
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
	return err
}

// turn waits until a file may be copied with the memory that it takes, until done is called.
func (c *copier) turn(size int64, small bool) (done func()) {
	switch {
	case size >= largeFile:
		c.large.Lock()
		return c.large.Unlock
	case !small:
		c.medium <- struct{}{}
		return func() { <-c.medium }
	}
	return func() {}
}

// one copies anything but a directory.
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
