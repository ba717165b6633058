package copying

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// NewGet returns the command get.
func NewGet() *cobra.Command {
	g := &get{}
	cmd := &cobra.Command{
		Use:   "get URL... [LOCAL]",
		Short: "Copy files from a server",
		Long: `Get copies files from an NFS server to this host. LOCAL is a new name, a file to replace, or a
directory to copy into; by default it is the current directory. With several URLs it must be a
directory that exists. If LOCAL is -, the data goes to standard output; if it is a device or a
FIFO, the data is written into it.

If LOCAL is a link to a file, get replaces that file and keeps the link; put replaces the link.
Neither writes through a link that leads nowhere.

Whatever a server calls its files, and wherever its links lead, get never writes outside of the
directory that it copies into.
` + long + `
--sparse turns blocks of 4 KiB of zeros into holes: NFSv3 does not tell where a file has holes.
Get does not sync files to disk at the end, and neither does cp(1).
` + exits,
		Example: `  rpcrdma get rdma://server/export/notes.txt
  rpcrdma get -rp rdma://server/export/photos /backup
  rpcrdma get -auT rdma://server/export/photos /backup/photos
  rpcrdma get rdma://server/export/backup.tar - | tar x`,
		Args: func(_ *cobra.Command, args []string) error { return g.parse(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	g.Options.addFlags(cmd)
	g.remotes.AddFlags(cmd)
	return cmd
}

// get is a get command.
type get struct {
	Options
	remotes remote.Session
	urls    []string
	to      string
}

// parse parses the arguments.
func (g *get) parse(args []string) error {
	g.urls, g.to = args, "."
	if n := len(args) - 1; n >= 0 && !reach.IsURL(args[n]) {
		g.urls, g.to = args[:n], args[n]
	}
	switch {
	case g.to == "":
		return cli.Usagef("the name to copy to is empty")
	case len(g.urls) == 0:
		return cli.Usagef("no URL: write rdma://HOST/EXPORT/PATH, or tcp://")
	}
	for _, url := range g.urls {
		if !reach.IsURL(url) && reach.IsURL(args[len(args)-1]) {
			return cli.Usagef("%s is not a URL: get copies from a server; use put to copy to a server, and cp to "+
				"copy between servers", cli.Printable(url))
		}
		if _, err := reach.ParseTarget(url); err != nil {
			return err
		}
	}
	if err := g.oneName(len(g.urls)); err != nil {
		return err
	}
	if len(g.urls) > 1 && len(g.urls) == len(args) {
		return cli.Usagef("name what to copy to: . is this directory; use cp to copy between servers")
	}
	return nil
}

func (g *get) run(cmd *cobra.Command) (err error) {
	defer func() {
		if e := g.remotes.Close(); err == nil {
			err = e
		}
	}()
	if g.to == "-" && (g.Recursive || len(g.urls) > 1) {
		return cli.Usagef("only one file can be copied to standard output, without -r")
	}
	ctx := cmd.Context()
	c := g.newCopier(cmd, &g.remotes, "get", g.to == "-")
	c.transfer = c.fromServer
	if g.to == "-" {
		err = g.stream(ctx, c, g.urls[0], cmd.OutOrStdout(), "standard output")
	} else {
		err = g.files(ctx, c)
	}
	return c.finish(ctx, err)
}

// files copies to regular files.
func (g *get) files(ctx context.Context, c *copier) error {
	urls, err := c.expand(ctx, &g.remotes, g.urls)
	if err != nil || len(urls) == 0 {
		return err
	}
	if err := g.oneName(len(urls)); err != nil {
		return err
	}
	info, err := os.Stat(g.to)
	isDir := err == nil && info.IsDir()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c.report(ctx, words.About(g.to, err))
	case len(urls) > 1 && err != nil:
		return c.report(ctx, words.About(g.to, words.ErrNoDirectory))
	case len(urls) > 1 && !isDir, err == nil && !isDir && strings.HasSuffix(g.to, "/"):
		return c.report(ctx, words.About(g.to, words.ErrNotDirectory))
	case err == nil && !isDir && !info.Mode().IsRegular():
		if g.Recursive {
			return c.report(ctx, words.About(g.to, words.ErrNotDirectory))
		}
		w := &Special{Path: g.to, Flag: os.O_WRONLY}
		defer w.Close()
		return g.stream(ctx, c, urls[0], w, g.to)
	}
	to, as, err := g.place(isDir)
	if err != nil {
		return c.report(ctx, err)
	}
	defer to.close()
	var items []Item
	taken := make(into)
	for _, url := range urls {
		f, err := g.source(ctx, url, to, as, isDir)
		if err == nil && len(urls) == 1 && f.as != as {
			err = c.nested(ctx, &f, g.to)
		}
		if err == nil {
			err = taken.claim(to, f.as)
		}
		if err == nil {
			items = append(items, f)
		} else if err = c.report(ctx, err); err != nil {
			return err
		}
	}
	return c.all(ctx, items)
}

// place opens the target directory, and returns the name in it to copy to: that of a file, or "."
// to copy into it.
func (g *get) place(isDir bool) (*localDir, string, error) {
	if isDir {
		to, err := openLocal(g.to)
		return to, ".", err
	}
	name := filepath.Clean(g.to)
	if info, err := os.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, "", words.About(g.to, words.ErrDangling)
		}
	}
	to, err := openLocal(filepath.Dir(name))
	return to, filepath.Base(name), err
}

// source finds the file that a URL names.
func (g *get) source(ctx context.Context, url string, to place, as string, isDir bool) (Item, error) {
	f, base, err := remoteSource(ctx, &g.remotes, url, g.Recursive)
	switch {
	case err != nil:
		return Item{}, err
	case !f.mode.IsDir() && !isDir && strings.HasSuffix(g.to, "/"):
		return Item{}, words.About(g.to, words.ErrNoDirectory) // a directory would have been found
	}
	if f.to, f.as = to, as; isDir && !g.asName && base != "/" {
		f.as = base
	}
	return f, nil
}

// stream copies to standard output, or to a device or FIFO.
func (g *get) stream(ctx context.Context, c *copier, url string, w io.Writer, as string) error {
	from, name, err := openRemote(ctx, &g.remotes, url)
	switch {
	case err != nil:
	case c.dryRun:
		c.would(from.show(name), as)
	default:
		err = c.getStream(ctx, from, name, w, as)
	}
	return c.settle(ctx, err, func() string { return url }, func() string { return as })
}
