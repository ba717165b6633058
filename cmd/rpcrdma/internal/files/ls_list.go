package files

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// listing is an ls under way.
type listing struct {
	lsFlags
	*remote.Work
	out     *bufio.Writer
	quote   bool
	names   cli.Names
	titles  bool // print the URL above a directory
	printed bool // something was printed before
}

// directory is a directory to list.
type directory struct {
	remote.Operand
	file  nfs3.FH
	depth int
}

func ls(cmd *cobra.Command, r *remote.Session, flags lsFlags, urls []string) error {
	return remote.WithWork(cmd, r, urls, func(w *remote.Work) error {
		urls, err := w.Expand(urls)
		if err != nil {
			return err
		}
		l := &listing{
			lsFlags: flags,
			Work:    w,
			out:     bufio.NewWriter(cli.Interruptible{Ctx: cmd.Context(), W: cmd.OutOrStdout()}),
			quote:   cli.OnTerminal(cmd),
			titles:  len(urls) > 1 || flags.recursive,
		}
		return l.operands(urls)
	})
}

// operands lists files first, then directories, as ls(1) does.
func (l *listing) operands(urls []string) error {
	var files []line
	var directories []directory
	var servers []exportList
	for _, url := range urls {
		p, err := l.Open(url)
		if err != nil {
			if below := l.ExportsBelow(url, err); len(below) > 0 {
				servers = append(servers, exportList{url, below})
			} else if err := l.report(url, err); err != nil {
				return err
			}
			continue
		}
		i, err := p.Stat(l.Ctx(), false)
		if err == nil && !l.long && !l.directory && i.Attr().Type == nfs3.TypeLnk {
			if to, err := p.Stat(l.Ctx(), true); err == nil && to.IsDir() {
				i = to
			}
		}
		switch {
		case err != nil:
			if err := l.report(url, err); err != nil {
				return err
			}
		case i.IsDir() && !l.directory:
			directories = append(directories, directory{p, i.Handle(), 0})
		default:
			files = append(files,
				line{Entry: remote.Entry{Name: url, File: i.Handle(), Attr: *i.Attr()}, remote: p.Export})
		}
	}
	if err := l.print(files); err != nil {
		return err
	}
	for _, s := range servers {
		l.title(s.url)
		for _, name := range s.names {
			if err := l.export(s.url, name); err != nil {
				return err
			}
		}
	}
	for _, d := range directories {
		if err := l.list(d); err != nil {
			return err
		}
	}
	return l.flush()
}

// list lists a directory and, with -R, those in it. It returns an error only if the command must
// end.
func (l *listing) list(d directory) error {
	if d.depth > remote.MaxDepth {
		return l.report(d.URL, remote.ErrDepth)
	}
	l.title(d.URL)
	if l.unsorted && !l.reverse && (l.json || !l.long) && !l.recursive {
		return l.stream(d)
	}
	var lines []line
	used := uint64(0)
	for e, err := range remote.Bounded(l.entries(d), remote.MostHeld) {
		if errors.As(err, new(*remote.EntryError)) {
			if err := l.unseen(&lines, d, e.Name, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if errors.As(err, new(remote.EndlessError)) {
				err = fmt.Errorf("%w; -U without -l, -r and -R lists more", err)
			}
			if err := l.report(d.URL, err); err != nil {
				return err
			}
			break
		}
		if l.all || e.Name[0] != '.' {
			lines = append(lines, line{Entry: e, remote: d.Export, dir: d.URL})
			used += e.Attr.Used
		}
	}
	if l.long && !l.json {
		fmt.Fprintln(l.out, "total", l.total(used))
	}
	if err := l.print(lines); err != nil || !l.recursive {
		return err
	}
	for _, n := range lines {
		if n.IsDir() {
			if err := l.list(directory{d.Child(n.Name), n.File, d.depth + 1}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream lists a directory as it arrives, without keeping it.
func (l *listing) stream(d directory) error {
	var some []line
	for e, err := range remote.Bounded(l.entries(d), remote.MostListed) {
		if errors.As(err, new(*remote.EntryError)) {
			if err := l.unseen(&some, d, e.Name, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if err := l.print(some); err != nil {
				return err
			}
			return l.report(d.URL, err)
		}
		if l.all || e.Name[0] != '.' {
			some = append(some, line{Entry: e, remote: d.Export, dir: d.URL})
		}
		if len(some) == streamed {
			if err := l.print(some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return l.print(some)
}

// unseen reports a file without attributes, and lists it by its name alone. It returns an error
// only if the command must end.
func (l *listing) unseen(lines *[]line, d directory, name string, why error) error {
	if !l.all && name[0] == '.' {
		return nil
	}
	if !l.json {
		*lines = append(*lines, line{Entry: remote.Entry{Name: name}, remote: d.Export, dir: d.URL, unseen: true})
	}
	return l.report(reach.ChildURL(d.URL, name), why)
}

// streamed is how many files stream prints at a time.
const streamed = 1024

// export prints the path of what a server exports.
func (l *listing) export(url, name string) error {
	if !l.json {
		_, err := fmt.Fprintln(l.out, l.shown(name))
		return err
	}
	t, _ := reach.ParseTarget(url) // which Open has parsed before
	return cli.WriteJSON(l.out, exportJSON{t.At(name).String(), name, "export"})
}

// report prints an error, below what has been listed so far.
func (l *listing) report(url string, err error) error {
	if flushed := l.flush(); flushed != nil {
		return flushed
	}
	return l.Fail(url, err)
}

func (l *listing) flush() error {
	err := l.out.Flush()
	if ctxErr := l.Ctx().Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}
