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
	name string // name in to
	dir  *dir   // nil: the command line names the files
}

// abandoned is the age at which a temporary file counts as abandoned.
const abandoned = 24 * time.Hour

// mostLeftovers bounds how many temporary files a copy checks.
const mostLeftovers = 1 << 16

// keepInMind notes temporary files in a directory for sweep at the end. By then, other running
// copies have completed theirs, or written to them.
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

// sweep removes abandoned temporary files of the user who copies.
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
		fmt.Fprintf(w.bar,
			"rpcrdma %s %s: removed temporary files that an interrupted copy left more than a day ago: %d\n",
			w.verb, cli.Printable(where), removed)
	}
	return nil
}

// probe makes a file in the directory of another, and removes it. Its details tell which user the
// copy has there, and the time there.
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

// isAbandoned reports whether a temporary file has the owner of a file that was just made, is older
// by abandoned, and has not changed since it was found.
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
