package copying

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// link copies a symbolic link.
func (c *copier) link(ctx context.Context, f *Item) error {
	target, err := f.from.readlink(ctx, f.name)
	if f.stale(err) { // another link has replaced it between LOOKUP and READLINK
		target, err = f.from.readlink(ctx, f.name)
	}
	if err != nil {
		return err
	}
	name := f.as
	if err = makeLink(ctx, f.to, target, name); errors.Is(err, fs.ErrExist) {
		if there, e := f.to.lstat(ctx, f.as); e == nil && there.mode.IsDir() {
			return words.About(f.to.show(f.as), words.ErrOverDir)
		}
		name = Temporary(f.as)
		err = makeLink(ctx, f.to, target, name)
	}
	if err != nil {
		return c.named(f, name, err)
	}
	var lost error
	if c.preserve {
		lost = c.named(f, name, f.to.keep(ctx, name, f.details, true, nil))
	}
	if name != f.as {
		err := f.to.rename(ctx, name, f.as, nil)
		if err != nil && !(words.DoneBefore(err, nfs3.ErrNoEnt) && isLink(ctx, f.to, target, f.as)) {
			return c.discard(ctx, f.to, name, err)
		}
	}
	return lost
}

// makeLink makes a symbolic link.
func makeLink(ctx context.Context, to place, target, name string) error {
	err := to.symlink(ctx, target, name)
	if words.DoneBefore(err, nfs3.ErrExist) && isLink(ctx, to, target, name) {
		return nil
	}
	return err
}

// isLink reports whether a name is that of a symbolic link to a target.
func isLink(ctx context.Context, in place, target, name string) bool {
	there, err := in.lstat(ctx, name)
	if err != nil || there.mode.Type() != fs.ModeSymlink {
		return false
	}
	is, err := in.readlink(ctx, name)
	return err == nil && is == target
}
