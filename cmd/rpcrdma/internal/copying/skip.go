package copying

import (
	"context"
	"io/fs"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// need decides which files are copied although their copy exists.
type need struct {
	update         bool // copy newer files, and those of another size
	ignoreExisting bool // copy none of them
	checksum       bool // copy those with other content
}

// verdict is what need decides about a file.
type verdict int

const (
	copyIt    verdict = iota
	skipIt            // keep what is there
	compareIt         // keep it if it has the same content
)

// of decides whether to copy a file whose copy exists. kept says that copies have the times of
// their sources (-p); without it, a copy is newer than its source.
func (n *need) of(f, there *details, kept bool) verdict {
	same := f.mode.Type() == there.mode.Type()
	switch {
	case there.mode.IsDir():
		return copyIt // the copy will fail: a file cannot replace a directory
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

// sameTime reports whether a file has the time that it was given, at the resolution of its file
// system, which may be one second.
func sameTime(given, has time.Time) bool {
	given = nfs3.Nearest(given).Time() // one of the two sides is a server
	for _, unit := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, time.Second} {
		if has.Truncate(unit).Equal(has) && given.Truncate(unit).Equal(has) {
			return true
		}
	}
	return false
}

// skip returns a skippedError if a file needs no copy. With -p it then updates mode, owner and
// times.
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
		same, err := c.sameAs(ctx, f, there)
		if f.stale(err) {
			return nil // another file has replaced the source: it is to be copied
		}
		if err != nil || !same {
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

// alike reports whether a file has the mode, owner and time of another. It ignores the time of
// access, which copying changes.
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

// refit sets mode, owner and times of what is there to those of a file or directory.
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

// sameAs reads a file, or link, and its copy, and reports whether they have the same content.
func (c *copier) sameAs(ctx context.Context, f *Item, there *details) (bool, error) {
	if f.mode.Type() == fs.ModeSymlink {
		target, err := f.from.readlink(ctx, f.name)
		if err != nil {
			return false, err
		}
		has, err := f.to.readlink(ctx, f.as)
		return err == nil && has == target, ctx.Err()
	}
	defer c.turn(f.size, false)() // reading takes as much memory as for a longer file
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, err := f.from.open(ctx, f.name, nil)
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := f.to.open(ctx, f.as, nil)
	if err != nil {
		return false, ctx.Err() // an unreadable file can still be replaced
	}
	defer to.Close()
	n, err := common(from, to, f.from.show(f.name), f.to.show(f.as), f.size+1)
	if err != nil || n != f.size || n != there.size {
		return false, err
	}
	now, err := f.from.state(from)
	return err == nil && f.sameContent(&now), words.About(f.from.show(f.name), err)
}
