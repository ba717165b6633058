package copying

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// NewCp returns the command cp.
func NewCp() *cobra.Command {
	c := &cp{}
	cmd := &cobra.Command{
		Use:   "cp URL... URL",
		Short: "Copy files from servers to a server",
		Long: `Cp copies files from NFS servers to an NFS server, the same one or another. The data passes
through this host. The last URL is a new name, a file to replace, or a directory to copy into;
with several files it must be a directory. To copy to or from this host, use get and put.
` + long + `
--sparse turns blocks of 4 KiB of zeros into holes: NFSv3 does not tell where a file has holes.
` + exits,
		Example: `  rpcrdma cp rdma://one/export/notes.txt rdma://two/export/
  rpcrdma cp -rp rdma://one/export/photos rdma+roce://two/backup`,
		SuggestFor: []string{"copy"},
		Args:       func(_ *cobra.Command, args []string) error { return c.parse(args) },
		RunE:       func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.Options.addFlags(cmd)
	c.remotes.AddFlags(cmd)
	return cmd
}

// cp is a cp command.
type cp struct {
	Options
	remotes remote.Session
	urls    []string
	to      string
	slash   bool // the last URL ends with a slash
}

// parse parses the arguments.
func (p *cp) parse(args []string) error {
	n := len(args) - 1
	if n < 1 {
		return cli.Usagef("name the URL of what to copy, and the URL to copy to")
	}
	p.urls, p.to = args[:n], args[n]
	for _, url := range args {
		if !reach.IsURL(url) {
			return cli.Usagef("%s is not a URL: cp copies between servers; use get to copy to this host, and put "+
				"to copy from it",
				cli.Printable(url))
		}
		t, err := reach.ParseTarget(url)
		if err != nil {
			return err
		}
		p.slash = strings.HasSuffix(t.Path, "/")
	}
	return p.oneName(n)
}

func (p *cp) run(cmd *cobra.Command) (err error) {
	defer func() {
		if e := p.remotes.Close(); err == nil {
			err = e
		}
	}()
	ctx := cmd.Context()
	c := p.newCopier(cmd, &p.remotes, "cp", false)
	c.transfer = c.between
	return c.finish(ctx, p.copy(ctx, c))
}

// copy copies all sources.
func (p *cp) copy(ctx context.Context, c *copier) error {
	to, as, err := openRemote(ctx, &p.remotes, p.to)
	if err != nil {
		return c.report(ctx, err)
	}
	urls, err := c.expand(ctx, &p.remotes, p.urls)
	if err != nil || len(urls) == 0 {
		return err
	}
	if err := p.oneName(len(urls)); err != nil {
		return err
	}
	isDir, err := intoDir(ctx, to, as, p.slash, len(urls) > 1)
	if err != nil {
		return c.report(ctx, err)
	}
	var items []Item
	taken := make(into)
	for _, url := range urls {
		f, base, err := remoteSource(ctx, &p.remotes, url, p.Recursive)
		if f.to, f.as = to, as; isDir && !p.asName && base != "/" {
			f.as = path.Join(as, base)
		}
		switch {
		case err != nil:
		case !f.mode.IsDir() && !isDir && p.slash:
			err = words.About(to.show(as), words.ErrNoDirectory)
		case f.from.(*remoteDir).fs == to.fs && within(f.as, f.name):
			err = words.About(f.from.show(f.name), words.ErrItself)
		case len(urls) == 1 && f.as != as:
			err = c.nested(ctx, &f, p.to)
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

// within reports whether name is dir, or lies below it.
func within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// between copies the content of a file from one server to another.
func (c *copier) between(ctx context.Context, to, from content, f *Item) error {
	if c.sparse {
		return c.fromServer(ctx, to, from, f)
	}
	if c.isSmall(f) {
		return c.whole(ctx, to, from, f)
	}
	r, w := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, err := from.WriteTo(w)
		w.CloseWithError(words.About(f.from.show(f.name), err))
	}()
	_, err := to.ReadFrom(&reader{r, f.from.show(f.name), c.moved, nil})
	r.Close()
	<-read
	return words.About(f.to.show(f.as), err)
}
