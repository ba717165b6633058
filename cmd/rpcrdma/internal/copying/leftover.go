package copying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// leftover is a temporary file of another copy, which may have been killed.
type leftover struct {
	details
	to   place
	name string // in to
	dir  *dir   // nil: what is in it was named itself
}

// abandoned is for how long nothing was written to a temporary file that no copy will complete any
// more.
const abandoned = 24 * time.Hour

// mostLeftovers bounds how many are looked at in a copy.
const mostLeftovers = 1 << 16

// keepInMind has temporary files in a directory looked at when all is copied: by then those of
// other copies under way are complete, or have been written to.
func (w *walk) keepInMind(s *survey, to place, in string, d *dir) {
	for _, one := range s.temporary {
		if w.dryRun || len(w.leftovers) == mostLeftovers {
			return
		}
		if d != nil {
			d.left.Add(1)
		}
		w.leftovers = append(w.leftovers, leftover{one, to, path.Join(in, one.name), d})
	}
}

// sweep removes temporary files that were abandoned, if the user who copies owns them.
func (w *walk) sweep(ctx context.Context) error {
	if len(w.leftovers) == 0 {
		return nil
	}
	first := &w.leftovers[0]
	own, err := w.probe(ctx, first.to, first.name)
	if first.dir != nil {
		first.dir.changed.Store(true)
	}
	removed := 0
	for i := range w.leftovers {
		l := &w.leftovers[i]
		if err == nil && l.isAbandoned(ctx, &own) && l.to.remove(ctx, l.name) == nil {
			removed++
			if l.dir != nil {
				l.dir.changed.Store(true)
			}
		}
		if err := w.done(ctx, l.dir); err != nil {
			return err
		}
	}
	if removed > 0 && !w.quiet {
		where := first.to.show(path.Dir(first.name))
		fmt.Fprintf(w.bar, "rpcrdma %s %s: removed temporary files that an interrupted copy left more than a day ago: %d\n",
			w.verb, cli.Printable(where), removed)
	}
	return nil
}

// probe makes a file beside another, and removes it. Its details tell who the user is there, and
// what time it is.
func (c *copier) probe(ctx context.Context, to place, name string) (details, error) {
	temp := Temporary(name)
	file, err := to.create(ctx, temp, 0o600, false)
	if err != nil {
		return details{}, err
	}
	own, err := to.state(file)
	err = errors.Join(err, file.Close())
	return own, c.discard(ctx, to, temp, err)
}

// isAbandoned reports whether a temporary file is of the same user as one that was just made, and
// older by long enough. It must be as it was when it was found.
func (l *leftover) isAbandoned(ctx context.Context, own *details) bool {
	if own.uid < 0 || own.uid != l.uid || own.mtime.Sub(l.mtime) < abandoned {
		return false
	}
	now, err := l.to.lstat(ctx, l.name)
	return err == nil && l.sameContent(&now) && now.uid == l.uid && mayBeLeft(&now)
}

// mayBeLeft reports whether a file may be a temporary one.
func mayBeLeft(d *details) bool {
	return IsTemporary(d.name) && (d.mode.IsRegular() || d.mode.Type() == fs.ModeSymlink)
}
