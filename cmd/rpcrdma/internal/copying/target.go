package copying

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// oneName refuses several files with -T.
func (o *Options) oneName(n int) error {
	if o.asName && n > 1 {
		return cli.Usagef("-T gives the copy of one file its name, but there are %d files to copy", n)
	}
	return nil
}

// nested checks the copy of a single directory into one that exists: a user who repeats a copy may
// mean the copy itself. It refuses to copy into a directory of the same name. If another directory
// looks like the copy, it prints a message. target is what the user wrote.
func (c *copier) nested(ctx context.Context, f *Item, target string) error {
	if t, err := reach.ParseTarget(target); err == nil {
		target = t.Path
	}
	base, slash := path.Base(filepath.ToSlash(target)), strings.HasSuffix(target, "/")
	switch {
	case !f.mode.IsDir() || base == "." || base == ".." || base == "/":
		return nil
	case base == path.Base(f.as):
		return words.About(f.to.show(path.Dir(f.as)), fmt.Errorf(
			"exists: use -T to copy over it; for a copy in it, write %[1]s/%[1]s", cli.Printable(base)))
	case slash || c.quiet || !looksCopied(ctx, f, path.Dir(f.as)):
		return nil
	}
	if _, err := f.to.lstat(ctx, f.as); err != nil {
		into := f.to.show(path.Dir(f.as))
		fmt.Fprintf(c.bar, "rpcrdma %s %s: exists: the copy goes into it, as %s; use -T to copy over it\n",
			c.verb, cli.Printable(into), cli.Printable(f.to.show(f.as)))
	}
	return nil
}

// looksCopied reports whether a directory contains the first name of a directory to copy.
func looksCopied(ctx context.Context, f *Item, in string) bool {
	for one, err := range f.from.list(ctx, f.name) {
		if err == nil {
			_, err = f.to.lstat(ctx, path.Join(in, one.name))
		}
		return err == nil
	}
	return false
}
