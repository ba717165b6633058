package copying

import (
	"context"
	"io/fs"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// need decides which files are copied although something has the name of the copy already.
type need struct {
	update         bool // what is newer or of another size
	ignoreExisting bool // nothing
	checksum       bool // what has other content
}

// verdict is what need says of a file.
type verdict int

const (
	copyIt    verdict = iota
	skipIt            // what is there does
	compareIt         // what is there does if it has the same content
)

// of says whether a file is copied although there is something. kept says that times are kept, so
// that a copy has those of its source, and is otherwise newer.
func (n *need) of(f, there *details, kept bool) verdict {
	same := f.mode.Type() == there.mode.Type()
	switch {
	case there.mode.IsDir():
		return copyIt // which it cannot be: that is an error
	case n.ignoreExisting:
		return skipIt
	case !same || !n.update && !n.checksum:
		return copyIt
	case f.mode.Type() == fs.ModeSymlink:
		return compareIt
	case f.size != there.size:
		return copyIt
	case n.checksum:
		return compareIt
	case kept && sameTime(f.mtime, there.mtime), !kept && !f.mtime.After(there.mtime):
		return skipIt
	}
	return copyIt
}

// sameTime reports whether a file has the time that it was given, as exactly as its file system
// keeps times: for some these are whole seconds.
func sameTime(given, has time.Time) bool {
	given = wireTime(given).Time() // one of the two sides is always a server
	for _, unit := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, time.Second} {
		if has.Truncate(unit).Equal(has) && given.Truncate(unit).Equal(has) {
			return true
		}
	}
	return false
}

// skip returns a skippedError if a file needs no copy. What -p keeps it sets where it has changed.
func (c *copier) skip(ctx context.Context, f *Item) error {
	if c.need == (need{}) || !f.mode.IsRegular() && f.mode.Type() != fs.ModeSymlink {
		return nil
	}
	there, err := c.existing(ctx, f)
	if err != nil || there == nil {
		return err
	}
	switch c.need.of(&f.details, there, c.preserve) {
	case copyIt:
		return nil
	case compareIt:
		if same, err := c.sameAs(ctx, f, there); err != nil || !same {
			return err
		}
	}
	if c.ignoreExisting {
		return skippedError("it exists")
	}
	if c.preserve && !c.dryRun && !c.alike(f, there) {
		if err := c.refit(ctx, f, there); err != nil {
			return err
		}
	}
	return skippedError("it is unchanged")
}

// alike reports whether a file has what -p keeps of another. The time of access is not looked at:
// to copy a file changes it.
func (c *copier) alike(f *Item, there *details) bool {
	mode, has := f.mode&kept, there.mode&kept
	if f.uid >= 0 && there.uid >= 0 && (f.uid != there.uid || f.gid != there.gid) {
		if !c.notOwned.Load() {
			return false
		}
		mode, has = mode&^setID, has&^setID
	}
	if f.mode.Type() == fs.ModeSymlink {
		mode, has = 0, 0
	}
	return mode == has && sameTime(f.mtime, there.mtime)
}

// refit gives what is there what -p keeps of a file or directory.
func (c *copier) refit(ctx context.Context, f *Item, there *details) error {
	if err := f.to.keep(ctx, f.as, f.details, true, nil); err != nil {
		return err
	}
	if f.uid != there.uid || f.gid != there.gid {
		if now, err := f.to.lstat(ctx, f.as); err == nil && (f.uid != now.uid || f.gid != now.gid) {
			c.notOwned.Store(true)
		}
	}
	return nil
}

// sameAs reports whether a file, or a link, has the content of another, which it reads.
func (c *copier) sameAs(ctx context.Context, f *Item, there *details) (bool, error) {
	if f.mode.Type() == fs.ModeSymlink {
		target, err := f.from.readlink(ctx, f.name)
		if err != nil {
			return false, err
		}
		has, err := f.to.readlink(ctx, f.as)
		return err == nil && has == target, ctx.Err()
	}
	defer c.turn(f.size, false)() // either file is read with as much memory as a longer one
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, err := f.from.open(ctx, f.name, nil)
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := f.to.open(ctx, f.as, nil)
	if err != nil {
		return false, ctx.Err() // to replace it, it need not be readable
	}
	defer to.Close()
	n, err := common(from, to, f.from.show(f.name), f.to.show(f.as), f.size+1)
	if err != nil || n != f.size || n != there.size {
		return false, err
	}
	now, err := f.from.state(from)
	return err == nil && f.sameContent(&now), words.About(f.from.show(f.name), err)
}
