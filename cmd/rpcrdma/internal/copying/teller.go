package copying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// telling is the flags that say what a command prints.
type telling struct {
	dryRun  bool
	quiet   bool
	json    bool
	verbose bool
}

// teller prints and counts the results of a copy.
type teller struct {
	opt     telling
	verb    string       // "get", "put" or "cp"
	bar     *cli.Bar     // also prints messages
	work    *remote.Work // adds to errors who calls
	results io.Writer    // for --json
	began   time.Time

	tally
	gone atomic.Bool // the server cannot be reached, so nothing else will work

	dryMu sync.Mutex // held while something is written to dryTo
	dryTo io.Writer  // for --dry-run
}

// report prints the error of one file. It returns an error if there is no point in going on.
func (t *teller) report(ctx context.Context, err error) error {
	if left := new(words.LeftError); errors.As(err, &left) { // print it in any case
		defer t.tell(left.Left)
		err = left.Err
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(cli.UsageError)):
		return err
	case t.gone.Load(): // has been reported
		return cli.ErrReported
	}
	t.failed.Add(1)
	t.tell(err)
	// A server that does not accept one call may accept others.
	if errors.As(err, new(*oncrpc.CallError)) && !errors.As(err, new(*oncrpc.AcceptError)) {
		t.gone.Store(true)
		return cli.ErrReported
	}
	return nil
}

// settle counts a file as copied, skipped or failed, and reports its error. It returns an error if
// there is no point in going on.
func (t *teller) settle(ctx context.Context, err error, from, to func() string) error {
	var why skippedError
	switch {
	case err == nil:
		t.files.Add(1)
		if t.opt.verbose && !t.opt.dryRun { // a dry run has printed it
			fmt.Fprintf(t.bar, "%s -> %s\n", cli.Printable(from()), cli.Printable(to()))
		}
	case errors.As(err, &why):
		t.skipped.Add(1)
		if t.opt.verbose {
			fmt.Fprintf(t.bar, "%s: %v\n", cli.Printable(from()), why)
		}
		return nil
	}
	return t.report(ctx, err)
}

// moved counts bytes of content that were transferred.
func (t *teller) moved(n int) {
	t.bar.Add(n)
	t.bytes.Add(int64(n))
}

// tell writes a message.
func (t *teller) tell(err error) {
	fmt.Fprintln(t.bar, cli.Cut("rpcrdma "+t.verb+" "+t.work.Reason(err)))
}

// expand returns the URLs of all files that match the URLs. It reports URLs without a match.
func (t *teller) expand(ctx context.Context, r *remote.Session, urls []string) (all []string, err error) {
	for _, url := range urls {
		some, err := r.Expand(ctx, url)
		if err := t.report(ctx, words.About(url, err)); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// would prints what --dry-run would copy where.
func (t *teller) would(from, to string) {
	t.dryMu.Lock()
	defer t.dryMu.Unlock()
	fmt.Fprintf(t.dryTo, "%s -> %s\n", cli.Printable(from), cli.Printable(to))
}

// finish prints the result of a command, and returns its error.
func (t *teller) finish(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		t.failed.Add(1)
	}
	if !errors.As(err, new(cli.UsageError)) {
		if lost := t.sum(); err == nil {
			err = lost
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if t.failed.Load() > 0 {
		return cli.ErrReported
	}
	return nil
}
