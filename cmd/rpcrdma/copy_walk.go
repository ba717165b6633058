package main

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// copyWalk finds the files to copy, and has them copied by a group.
type copyWalk struct {
	*copier
	group *errgroup.Group
}

// copyDir is a directory being copied.
type copyDir struct {
	copyItem
	made bool         // by this copy
	left atomic.Int64 // what is in it and has not been copied yet, and 1 while there may be more
}

// batch is how much of a directory is looked at before its copy is made. A directory that is copied into itself, which happens to
// who copies to a server on the same host, does then not find its copy in itself.
const batch = 4096

func (w *copyWalk) items(ctx context.Context, items []copyItem) error {
	for i := range items {
		f := &items[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.dir != nil {
			f.dir.left.Add(1)
		}
		if f.mode.IsDir() {
			if err := w.directory(ctx, &copyDir{copyItem: *f}); err != nil {
				return err
			}
			continue
		}
		if f.dir != nil { // the others are known from the beginning
			w.bar.grow(f.bytes())
		}
		w.group.Go(func() error {
			err := w.report(ctx, w.one(ctx, f))
			w.bar.copied()
			return errors.Join(err, w.done(ctx, f.dir))
		})
	}
	return nil
}

// directory copies a directory.
func (w *copyWalk) directory(ctx context.Context, d *copyDir) error {
	d.left.Store(1)
	made := false
	items := make([]copyItem, 0, 16)
	flush := func() error {
		if !made {
			made = true
			if err := w.mkdir(ctx, d); err != nil {
				return errors.Join(errUnmade, err)
			}
		}
		err := w.items(ctx, items)
		items = make([]copyItem, 0, 16) // the others are being copied
		return err
	}
	for one, err := range d.from.list(ctx, d.name) {
		if err != nil {
			if err := w.report(ctx, err); err != nil {
				return err
			}
			continue
		}
		items = append(items, copyItem{
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

// errUnmade: a directory was not made, so nothing can be copied into it.
var errUnmade = errors.New("the directory was not made")

// unmade goes on behind a directory that could not be made.
func (w *copyWalk) unmade(ctx context.Context, d *copyDir, err error) error {
	if !errors.Is(err, errUnmade) {
		return err
	}
	var e *placeError
	if !errors.As(err, &e) {
		return err
	}
	if err := w.report(ctx, e); err != nil {
		return err
	}
	return w.done(ctx, d.dir)
}

// mkdir makes a directory, which lets its owner in until it has been filled.
func (w *copyWalk) mkdir(ctx context.Context, d *copyDir) error {
	perm := d.mode.Perm() | 0o700
	if w.preserve {
		perm = 0o700
	}
	err := error(fs.ErrExist)
	if d.as != "." {
		err = d.to.mkdir(ctx, d.as, perm)
	}
	d.made = err == nil
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A link to a directory is none: who planted it says what it leads to.
	there, err := d.to.lstat(ctx, d.as)
	if err == nil && !there.mode.IsDir() {
		err = about(d.to.show(d.as), errOverFile)
	}
	return err
}

// done is called when one more of a directory's files was copied. When all were, it gets its mode and times.
func (w *copyWalk) done(ctx context.Context, d *copyDir) error {
	if d == nil || d.left.Add(-1) > 0 {
		return nil
	}
	if ctx.Err() == nil {
		var err error
		switch {
		case w.preserve:
			err = d.to.keep(ctx, d.as, d.details, true)
		case d.made && d.mode.Perm()|0o700 != d.mode.Perm():
			bare := details{mode: fs.ModeDir | d.mode.Perm()&^umask, uid: -1}
			err = d.to.keep(ctx, d.as, bare, false)
		}
		if err := w.report(ctx, err); err != nil {
			return err
		}
	}
	return w.done(ctx, d.dir)
}
