package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newGetCommand() *cobra.Command {
	g := &get{}
	cmd := &cobra.Command{
		Use:   "get URL... [LOCAL]",
		Short: "Copy files from a server",
		Long: `Get copies files of an NFS server to this host. LOCAL is a new name, a file to replace, or a
directory to copy into; without LOCAL that is the current one. With several URLs it must be a
directory. The data goes to standard output if LOCAL is -, and into it if LOCAL is a device or a
FIFO.

If LOCAL is a link to a file, that file is replaced, and the link stays; put replaces the link.
Neither writes through a link that leads nowhere.

What a server calls its files and where its links lead cannot make get write outside of the
directory it copies into.
` + copyLong + `
--sparse makes holes of blocks of 4 KiB of zeros: NFSv3 does not tell where a file has holes.
Files are not synced to disk in the end, just as cp does not.
` + copyExit,
		Example: `  rpcrdma get rdma://server/export/notes.txt
  rpcrdma get -rp rdma://server/export/photos /backup
  rpcrdma get rdma://server/export/backup.tar - | tar x`,
		Args: func(_ *cobra.Command, args []string) error { return g.parse(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	g.copyOptions.addFlags(cmd)
	g.remotes.addFlags(cmd)
	return cmd
}

// get is a get command.
type get struct {
	copyOptions
	remotes remotes
	urls    []string
	to      string
}

// parse takes the arguments apart.
func (g *get) parse(args []string) error {
	g.urls, g.to = args, "."
	if n := len(args) - 1; n >= 0 && !isURL(args[n]) {
		g.urls, g.to = args[:n], args[n]
	}
	switch {
	case g.to == "":
		return usagef("the name to copy to is empty")
	case len(g.urls) == 0:
		return usagef("no URL: write rdma://HOST/EXPORT/PATH, or tcp://")
	}
	for _, url := range g.urls {
		if !isURL(url) && isURL(args[len(args)-1]) {
			return usagef("%s is no URL: get copies from a server; to copy to one, use put", printable(url))
		}
		if _, err := parseTarget(url); err != nil {
			return err
		}
	}
	return nil
}

func (g *get) run(cmd *cobra.Command) (err error) {
	defer func() {
		if e := g.remotes.close(); err == nil {
			err = e
		}
	}()
	if g.to == "-" && (g.recursive || len(g.urls) > 1) {
		return usagef("to standard output one file can be copied, without -r")
	}
	ctx := cmd.Context()
	c := g.newCopier(cmd, &g.remotes, "get", g.to == "-")
	c.transfer = c.fromServer
	if g.to == "-" {
		err = g.stream(ctx, c, cmd.OutOrStdout(), "standard output")
	} else {
		err = g.files(ctx, c)
	}
	return c.finish(ctx, err)
}

// files copies to files.
func (g *get) files(ctx context.Context, c *copier) error {
	info, err := os.Stat(g.to)
	isDir := err == nil && info.IsDir()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c.report(ctx, about(g.to, err))
	case len(g.urls) > 1 && err != nil:
		return c.report(ctx, about(g.to, errNoDirectory))
	case len(g.urls) > 1 && !isDir, err == nil && !isDir && strings.HasSuffix(g.to, "/"):
		return c.report(ctx, about(g.to, errNotDirectory))
	case err == nil && !isDir && !info.Mode().IsRegular():
		if g.recursive {
			return c.report(ctx, about(g.to, errNotDirectory))
		}
		w := &special{path: g.to, flag: os.O_WRONLY}
		defer w.close()
		return g.stream(ctx, c, w, g.to)
	}
	to, as, err := g.place(isDir)
	if err != nil {
		return c.report(ctx, err)
	}
	defer to.close()
	var items []copyItem
	taken := make(into)
	for _, url := range g.urls {
		f, err := g.source(ctx, url, to, as, isDir)
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

// place opens the directory to copy to, and returns the name to copy to in it: that of a file, or of the directory to copy into.
func (g *get) place(isDir bool) (*localDir, string, error) {
	if isDir {
		to, err := openLocal(g.to)
		return to, ".", err
	}
	name := filepath.Clean(g.to)
	if info, err := os.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, "", about(g.to, errDangling)
		}
	}
	to, err := openLocal(filepath.Dir(name))
	return to, filepath.Base(name), err
}

// source finds the file that a URL names.
func (g *get) source(ctx context.Context, url string, to place, as string, isDir bool) (copyItem, error) {
	from, name, err := openRemote(ctx, &g.remotes, url)
	if err != nil {
		return copyItem{}, err
	}
	t, _ := parseTarget(url) // which was checked
	find := from.stat
	if g.recursive && !strings.HasSuffix(t.path, "/") {
		find = from.lstat
	}
	d, err := find(ctx, name)
	switch {
	case err != nil:
		return copyItem{}, err
	case d.mode.IsDir() && !g.recursive:
		return copyItem{}, about(from.show(name), errDirectory)
	case !d.mode.IsDir() && strings.HasSuffix(t.path, "/"):
		return copyItem{}, about(from.show(name), errNotDirectory)
	case !d.mode.IsDir() && !isDir && strings.HasSuffix(g.to, "/"):
		return copyItem{}, about(g.to, errNoDirectory) // it would have been found
	}
	if base := path.Base(t.path); isDir && base != "/" {
		as = base
	}
	return copyItem{details: d, from: from, to: to, name: name, as: as}, nil
}

// stream copies to what is no regular file.
func (g *get) stream(ctx context.Context, c *copier, w io.Writer, as string) error {
	from, name, err := openRemote(ctx, &g.remotes, g.urls[0])
	if err == nil {
		err = c.getStream(ctx, from, name, w, as)
	}
	return c.report(ctx, err)
}
