package copying

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// walk finds the files to copy, and copies them by a group of goroutines.
type walk struct {
	*copier
	group  *errgroup.Group
	noRoom noRoom

	unfinished unfinished
	leftovers  []leftover
}

// dir is a directory being copied.
type dir struct {
	Item
	made    bool         // made by this copy
	changed atomic.Bool  // something in it was made, replaced or removed
	left    atomic.Int64 // files in it that are not copied yet, plus 1 while there may be more
	release func()       // from place.hold; nil: not held
}

// batch is how many entries of a directory are read before its copy is made. A copy of a directory
// into itself, as by a server on the same host, then does not find itself.
const batch = 4096

// named surveys the target directories of the files that the command line names.
func (w *walk) named(ctx context.Context, items []Item) {
	found := make(map[string]survey)
	for i := range items {
		f := &items[i]
		if f.mode.IsDir() || f.as == "." {
			continue
		}
		in := path.Dir(f.as)
		s, ok := found[in]
		if !ok {
			s = surveyOf(ctx, f.to, in, len(items))
			w.keepInMind(&s, f.to, in, nil)
			found[in] = s
		}
		s.tell(f)
	}
}

func (w *walk) items(ctx context.Context, items []Item) error {
	for i := range items {
		f := &items[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.dir != nil {
			f.dir.left.Add(1)
		}
		if f.mode.IsDir() {
			if err := w.directory(ctx, &dir{Item: *f}); err != nil {
				return err
			}
			continue
		}
		if f.dir != nil && !w.foreseen { // the bar knows those of the command line
			w.bar.Grow(f.bytes())
		}
		w.group.Go(func() error {
			err := w.one(ctx, f)
			if w.noRoom.postpone(f, err) {
				return nil
			}
			return w.through(ctx, f, err)
		})
	}
	return nil
}

// through finishes a file with the result err.
func (w *walk) through(ctx context.Context, f *Item, err error) error {
	if errors.As(err, new(skippedError)) {
		w.bar.Skip(f.bytes())
	}
	err = w.settle(ctx, err, f.source, f.target)
	w.bar.Copied()
	return errors.Join(err, w.done(ctx, f.dir))
}

// directory copies a directory.
func (w *walk) directory(ctx context.Context, d *dir) error {
	d.left.Store(1)
	made := false
	var found survey
	items := make([]Item, 0, 16)
	flush := func() error {
		if !made {
			made = true
			if err := w.mkdir(ctx, d); err != nil {
				return errors.Join(errUnmade, err)
			}
			if !w.dryRun {
				d.release = d.to.hold(ctx, d.as)
			}
			if !d.made {
				found = surveyOf(ctx, d.to, d.as, len(items))
				w.keepInMind(&found, d.to, d.as, d)
			}
		}
		if !d.made {
			for i := range items {
				found.tell(&items[i])
			}
		}
		err := w.items(ctx, items)
		items = make([]Item, 0, 16) // workers use the other slice
		return err
	}
	for one, err := range d.from.list(ctx, d.name) {
		if err != nil {
			if err := w.report(ctx, err); err != nil {
				return err
			}
			continue
		}
		items = append(items, Item{
			details: one,
			from:    d.from,
			to:      d.to,
			name:    path.Join(d.name, one.name),
			as:      path.Join(d.as, one.name),
			dir:     d,
		})
		if len(items) == batch {
			if err := flush(); err != nil {
				return w.unmade(ctx, d, err)
			}
		}
	}
	if err := flush(); err != nil {
		return w.unmade(ctx, d, err)
	}
	return w.done(ctx, d)
}

// errUnmade is for files whose target directory could not be made.
var errUnmade = errors.New("the directory was not made")

// unmade goes on after a directory could not be made.
func (w *walk) unmade(ctx context.Context, d *dir, err error) error {
	if !errors.Is(err, errUnmade) {
		return err
	}
	var e *words.AboutError
	if !errors.As(err, &e) {
		return err
	}
	if err := w.report(ctx, e); err != nil {
		return err
	}
	return w.done(ctx, d.dir)
}

// mkdir makes a directory that its owner can write to until it has been filled.
func (w *walk) mkdir(ctx context.Context, d *dir) error {
	perm := d.mode.Perm() | 0o700
	if w.preserve {
		perm = 0o700
	}
	err := error(fs.ErrExist)
	switch {
	case d.as == "." || d.looked && d.there != nil:
	case w.dryRun:
		if there, e := w.existing(ctx, &d.Item); there == nil {
			err = e
		}
		if err == nil {
			w.would(d.from.show(d.name), d.to.show(d.as))
		}
	default:
		err = d.to.mkdir(ctx, d.as, perm)
	}
	if d.made = err == nil; d.made && d.dir != nil {
		d.dir.changed.Store(true)
	}
	if d.made && w.preserve && !w.dryRun {
		w.unfinished.add(d)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if d.there == nil {
		there, err := d.to.lstat(ctx, d.as)
		if err != nil {
			return err
		}
		d.looked, d.there = true, &there
	}
	// Do not follow a link to a directory: whoever made it would choose where the copy goes.
	if !d.there.mode.IsDir() {
		return words.About(d.to.show(d.as), words.ErrOverFile)
	}
	return nil
}

// done counts a copied file of a directory. After the last one it sets the directory's mode and
// times.
func (w *walk) done(ctx context.Context, d *dir) error {
	if d == nil || d.left.Add(-1) > 0 {
		return nil
	}
	if d.release != nil {
		d.release()
	}
	if ctx.Err() == nil && !w.dryRun {
		var err error
		switch {
		case w.preserve && !d.made && !d.changed.Load() && w.alike(&d.Item, d.there):
		case w.preserve && !d.made:
			err = w.refit(ctx, &d.Item, d.there)
		case w.preserve:
			err = d.to.keep(ctx, d.as, d.details, true, nil)
			if ctx.Err() == nil {
				w.unfinished.remove(d)
			}
		case d.made && d.mode.Perm()|0o700 != d.mode.Perm():
			bare := details{mode: fs.ModeDir | d.mode.Perm()&^remote.Umask, uid: -1}
			err = d.to.keep(ctx, d.as, bare, false, nil)
		}
		if err := w.report(ctx, err); err != nil {
			return err
		}
	}
	return w.done(ctx, d.dir)
}
