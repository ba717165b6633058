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

// oneName refuses to give several files the one name that -T says.
func (o *Options) oneName(n int) error {
	if o.asName && n > 1 {
		return cli.Usagef("-T: the last argument is the name of one file, and %d are to be copied", n)
	}
	return nil
}

// nested looks at the only directory that is copied when it goes into a directory that exists: who
// repeats a copy may mean the copy itself. Into a directory of the same name it is not copied. Into
// another it is, and a message says so if that looks like the copy. target is what the user wrote.
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
			"is there already: -T copies over it; for a copy in it, write %[1]s/%[1]s", cli.Printable(base)))
	case slash || c.quiet || !looksCopied(ctx, f, path.Dir(f.as)):
		return nil
	}
	if _, err := f.to.lstat(ctx, f.as); err != nil {
		into := f.to.show(path.Dir(f.as))
		fmt.Fprintf(c.bar, "rpcrdma %s %s: is there already: the copy goes into it, as %s; -T copies over it\n",
			c.verb, cli.Printable(into), cli.Printable(f.to.show(f.as)))
	}
	return nil
}

// looksCopied reports whether a directory has what a directory to copy has, as far as the first
// name tells.
func looksCopied(ctx context.Context, f *Item, in string) bool {
	for one, err := range f.from.list(ctx, f.name) {
		if err == nil {
			_, err = f.to.lstat(ctx, path.Join(in, one.name))
		}
		return err == nil
	}
	return false
}
