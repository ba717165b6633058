package copying

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// NewPut returns the command put.
func NewPut() *cobra.Command {
	p := &Put{}
	cmd := &cobra.Command{
		Use:   "put LOCAL... URL",
		Short: "Copy files to a server",
		Long: `Put copies files from this host to an NFS server. The URL is a new name, a file to replace, or a
directory to copy into; with several files it must be a directory. LOCAL - is standard input.
Without -r, put copies the data of devices and FIFOs.

If the URL names a link to a file, put replaces the link and keeps the file; get replaces the
file. Neither writes through a link that leads nowhere.
` + long + `
--sparse leaves out holes, where the system tells where they are, and blocks of 4 KiB of zeros.
If a file grows meanwhile, put --sparse copies what was there at the start.

A file gets its name only when the server has stored it (COMMIT of NFS). Put copies 64 small
files at a time; they take as long as the server takes to store them. A server that exports a
directory needs some fsyncs for each file.
` + exits,
		Example: `  rpcrdma put notes.txt rdma://server/export/
  rpcrdma put -rp photos rdma://server/export/backup
  rpcrdma put -auT photos rdma://server/export/backup/photos
  tar c . | rpcrdma put - rdma://server/export/backup.tar`,
		Args: func(_ *cobra.Command, args []string) error { return p.Parse(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return p.Run(cmd) },
	}
	p.Options.addFlags(cmd)
	p.Remotes.AddFlags(cmd)
	return cmd
}

// Put is a put command.
type Put struct {
	Options
	Remotes remote.Session
	paths   []string
	URL     string
	slash   bool        // the URL ends with a slash
	places  []*localDir // to close
}

// Parse parses the arguments.
func (p *Put) Parse(args []string) error {
	n := len(args) - 1
	if n < 1 {
		return cli.Usagef("name what to copy, and the URL to copy to")
	}
	p.paths, p.URL = args[:n], args[n]
	for _, path := range p.paths {
		if reach.IsURL(path) {
			return cli.Usagef("%s: put copies from this host; use get to copy from a server, and cp to copy "+
				"between servers", cli.Printable(path))
		}
	}
	t, err := reach.ParseTarget(p.URL)
	if err != nil {
		return err
	}
	p.slash = strings.HasSuffix(t.Path, "/")
	return p.oneName(n)
}

// Run copies.
func (p *Put) Run(cmd *cobra.Command) (err error) {
	defer func() {
		for _, l := range p.places {
			l.close()
		}
		if e := p.Remotes.Close(); err == nil {
			err = e
		}
	}()
	for _, path := range p.paths {
		if path == "-" && (p.Recursive || len(p.paths) > 1) {
			return cli.Usagef("standard input is copied alone, without -r; write ./- for a file that is named -")
		}
	}
	ctx := cmd.Context()
	c := p.newCopier(cmd, &p.Remotes, "put", false)
	c.transfer = c.toServer
	return c.finish(ctx, p.copy(ctx, c, cmd.InOrStdin()))
}

// copy copies all sources.
func (p *Put) copy(ctx context.Context, c *copier, stdin io.Reader) error {
	to, as, err := openRemote(ctx, &p.Remotes, p.URL)
	if err != nil {
		return c.report(ctx, err)
	}
	isDir, err := intoDir(ctx, to, as, p.slash, len(p.paths) > 1)
	if err != nil {
		return c.report(ctx, err)
	}
	if p.paths[0] == "-" {
		err := p.stream(ctx, c, stdin, "standard input", to, as, isDir)
		return c.settle(ctx, err, func() string { return "standard input" },
			func() string { return to.show(as) })
	}
	var items []Item
	taken := make(into)
	for _, name := range p.paths {
		f, err := p.source(name)
		if err == nil && isDir && !p.asName {
			if base := filepath.Base(name); base != "." && base != ".." && base != string(filepath.Separator) {
				f.as = base
			}
		}
		f.to, f.as = to, path.Join(as, f.as)
		switch {
		case err != nil:
		case f.stream:
			s := &Special{Path: name, Flag: os.O_RDONLY}
			err = p.stream(ctx, c, s, name, to, f.as, false)
			err = c.settle(ctx, err, func() string { return name }, f.target)
			s.Close()
		case !f.mode.IsDir() && !isDir && p.slash:
			err = words.About(to.show(as), words.ErrNoDirectory)
		default:
			if len(p.paths) == 1 && f.as != as {
				err = c.nested(ctx, &f, p.URL)
			}
			if err == nil {
				err = taken.claim(to, f.as)
			}
			if err == nil {
				items = append(items, f)
			}
		}
		if err = c.report(ctx, err); err != nil {
			return err
		}
	}
	return c.all(ctx, items)
}

// source finds a file of this host.
func (p *Put) source(name string) (Item, error) {
	find := os.Stat
	if p.Recursive && (name == "" || !os.IsPathSeparator(name[len(name)-1])) {
		find = os.Lstat
	}
	info, err := find(name)
	if err != nil {
		return Item{}, words.About(name, err)
	}
	f := Item{details: localDetails(info)}
	dir, base := name, "."
	switch {
	case info.IsDir() && !p.Recursive:
		return Item{}, words.About(name, words.ErrDirectory)
	case info.IsDir():
	case !info.Mode().IsRegular() && !p.Recursive:
		f.stream = true
		return f, nil
	default:
		resolved := name
		if info.Mode().IsRegular() {
			if resolved, err = filepath.EvalSymlinks(name); err != nil {
				return Item{}, words.About(name, err)
			}
		}
		dir, base = filepath.Dir(resolved), filepath.Base(resolved)
	}
	l, err := openLocal(dir)
	if err != nil {
		return Item{}, err
	}
	p.places = append(p.places, l)
	f.from, f.name = l, base
	return f, nil
}

// stream copies from standard input, or from a device or FIFO.
func (p *Put) stream(ctx context.Context, c *copier, r io.Reader, name string, to *remoteDir, as string,
	isDir bool) error {
	if isDir {
		return words.About(to.show(as), words.ErrOverDir)
	}
	if c.dryRun {
		c.would(name, to.show(as))
		return nil
	}
	return c.putStream(ctx, r, name, to, as)
}
