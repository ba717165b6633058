package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// listing is an ls under way.
type listing struct {
	lsFlags
	*work
	out     *bufio.Writer
	quote   bool
	titles  bool // directories have their URL above them
	printed bool // there is something in front
}

// directory is one to list.
type directory struct {
	operand
	file  nfs3.FH
	depth int
}

func ls(cmd *cobra.Command, r *remotes, flags lsFlags, urls []string) error {
	return withWork(cmd, r, urls, func(w *work) error {
		l := &listing{
			lsFlags: flags,
			work:    w,
			out:     bufio.NewWriter(interruptible{cmd.Context(), cmd.OutOrStdout()}),
			quote:   onTerminal(cmd),
			titles:  len(urls) > 1 || flags.recursive,
		}
		return l.operands(urls)
	})
}

// operands lists first what is no directory, as ls does.
func (l *listing) operands(urls []string) error {
	var files []line
	var directories []directory
	var servers []exportList
	for _, url := range urls {
		p, err := l.open(url)
		if err != nil {
			if below := l.exportsBelow(url, err); len(below) > 0 {
				servers = append(servers, exportList{url, below})
			} else if err := l.report(url, err); err != nil {
				return err
			}
			continue
		}
		i, err := p.stat(l.ctx(), false)
		if err == nil && !l.long && !l.directory && i.Attr().Type == nfs3.TypeLnk {
			if to, err := p.stat(l.ctx(), true); err == nil && to.IsDir() {
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
			files = append(files, line{entry: entry{url, i.Handle(), *i.Attr()}, remote: p.remote, url: url})
		}
	}
	if err := l.print(files); err != nil {
		return err
	}
	for _, s := range servers {
		l.title(s.url)
		for _, name := range s.names {
			fmt.Fprintln(l.out, l.shown(name))
		}
	}
	for _, d := range directories {
		if err := l.list(d); err != nil {
			return err
		}
	}
	return l.flush()
}

// maxDepth is how deep a tree is gone into. No path of Linux has more names.
const maxDepth = 2048

var errDepth = errors.New("too deep")

// list lists a directory and, with -R, those in it. The error is one to end with.
func (l *listing) list(d directory) error {
	if d.depth > maxDepth {
		return l.report(d.url, errDepth)
	}
	l.title(d.url)
	var lines []line
	used := uint64(0)
	for e, err := range l.entries(d) {
		if err != nil {
			if err := l.report(d.url, err); err != nil {
				return err
			}
			break
		}
		if l.all || e.name[0] != '.' {
			lines = append(lines, line{entry: e, remote: d.remote, url: childURL(d.url, e.name)})
			used += e.attr.Used
		}
	}
	if l.long {
		fmt.Fprintln(l.out, "total", l.total(used))
	}
	if err := l.print(lines); err != nil || !l.recursive {
		return err
	}
	for _, n := range lines {
		if n.isDir() {
			if err := l.list(directory{d.child(n.name), n.file, d.depth + 1}); err != nil {
				return err
			}
		}
	}
	return nil
}

// report says an error, below what has been listed before it.
func (l *listing) report(url string, err error) error {
	if flushed := l.flush(); flushed != nil {
		return flushed
	}
	return l.fail(url, err)
}

func (l *listing) flush() error {
	err := l.out.Flush()
	if ctxErr := l.ctx().Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}
