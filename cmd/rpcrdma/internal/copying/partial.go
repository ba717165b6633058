package copying

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// partial returns the name of the temporary file of a copy with --partial. It depends only on the
// name of the copy.
func partial(name string) string {
	sum := sha256.Sum256([]byte(path.Base(name)))
	letters := base32.StdEncoding.EncodeToString(sum[:])
	return path.Join(path.Dir(name), temporaryPrefix+strings.ToLower(letters[:temporaryRandom]))
}

// resumes reports whether a later copy may go on with the temporary file of f.
func (c *copier) resumes(f *Item) bool { return c.partial && !f.stream && f.size >= largeFile }

// begin returns the temporary file to write to, and its name: the one that another copy has left,
// or a new one.
func (c *copier) begin(ctx context.Context, f *Item, perm fs.FileMode) (to content, temp string, err error) {
	if c.resumes(f) {
		if to := c.left(ctx, f.to, partial(f.as)); to != nil {
			return to, partial(f.as), nil
		}
	}
	temp = Temporary(f.as)
	to, err = f.to.create(ctx, temp, perm, c.isSmall(f))
	if err != nil || !c.resumes(f) {
		return to, temp, err
	}
	if f.to.rename(ctx, temp, partial(f.as), to) != nil { // it may be another user's
		return to, temp, nil
	}
	return to, partial(f.as), nil
}

// left opens a temporary file if the user owns it. Its name is predictable, so it must not write to
// files that others have put there.
func (c *copier) left(ctx context.Context, to place, temp string) content {
	there, err := to.lstat(ctx, temp)
	if err != nil || !there.mode.IsRegular() {
		return nil
	}
	own, err := c.probe(ctx, to, temp)
	if err != nil || own.uid != there.uid {
		return nil
	}
	file, err := to.reopen(ctx, temp)
	if err != nil {
		return nil
	}
	return file
}

// errReopened is about a temporary file that is not what it seemed.
var errReopened = errors.New("is not a regular file with this name only")

// resume compares a temporary file with the source, and truncates it to what they have in common.
func (c *copier) resume(to, from content, f *Item) error {
	there, err := f.to.state(to)
	if err != nil || there.size == 0 {
		return words.About(f.target(), err)
	}
	n, err := common(from, to, f.source(), f.target(), min(there.size, f.size))
	if err != nil {
		return err
	}
	n -= n % holeSize
	if err := errors.Join(to.Truncate(n), seek(to, n)); err != nil {
		return words.About(f.target(), err)
	}
	if err := seek(from, n); err != nil {
		return words.About(f.source(), err)
	}
	f.verified = n
	c.bar.Skip(n)
	if n > 0 && !c.quiet {
		fmt.Fprintf(c.bar, "rpcrdma %s %s: %s of %s are there already, and the same: going on from there\n",
			c.verb, cli.Printable(f.target()), cli.Bytes(n), cli.Bytes(f.size))
	}
	return nil
}

func seek(file content, to int64) error {
	_, err := file.Seek(to, io.SeekStart)
	return err
}

// abandon ends a failed copy. It leaves the temporary file if a later copy may go on with it, or
// else removes it.
func (c *copier) abandon(ctx context.Context, f *Item, temp string, why error) error {
	if !c.resumes(f) || temp != partial(f.as) || words.IsNoRoom(why) || errors.Is(why, words.ErrChanged) ||
		errors.Is(why, words.ErrOverDir) {
		return c.discard(ctx, f.to, temp, why)
	}
	return &words.LeftError{Err: why, Left: words.About(f.to.show(temp), words.ErrKept)}
}
