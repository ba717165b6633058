package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// errReported ends a command that has said already what did not work.
var errReported = errors.New("not everything was done")

// work is a command on files of servers, under way. It goes on when a file makes trouble.
type work struct {
	cmd     *cobra.Command
	remotes *remotes
	failed  bool
}

// operand is a file, there or not, that a URL names.
type operand struct {
	*remote
	url  string // as it was given
	name string // in remote.fs
	dir  bool   // the URL ends with a slash: a link is followed
}

// onURLs opens all URLs and calls do with each. It returns a usage error before anything is done, or in the end errReported
// if something failed, or the context's error.
func onURLs(cmd *cobra.Command, r *remotes, urls []string, do func(w *work, p operand) error) (err error) {
	return withWork(cmd, r, urls, func(w *work) error {
		for _, url := range urls {
			p, err := w.open(url)
			if err == nil {
				err = do(w, p)
			}
			if err := w.fail(url, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// withWork checks the URLs, and calls do, which reports by w.fail what one of them has.
func withWork(cmd *cobra.Command, r *remotes, urls []string, do func(w *work) error) (err error) {
	for _, url := range urls {
		if _, err := parseTarget(url); err != nil {
			return err
		}
	}
	defer func() {
		if closed := r.close(); err == nil {
			err = closed
		}
	}()
	w := &work{cmd: cmd, remotes: r}
	if err := do(w); err != nil {
		return err
	}
	if w.failed {
		return errReported
	}
	return nil
}

// open finds what a URL names.
func (w *work) open(url string) (operand, error) {
	t, err := parseTarget(url)
	if err != nil {
		return operand{}, err
	}
	m, name, err := w.remotes.open(w.ctx(), url)
	return operand{m, url, name, strings.HasSuffix(t.path, "/")}, err
}

func (w *work) ctx() context.Context { return w.cmd.Context() }

// fail reports an error that is about a URL. It returns those after which the command shall not go on: its context has ended, or
// its output is lost.
func (w *work) fail(url string, err error) error {
	if ctxErr := w.ctx().Err(); ctxErr != nil {
		return ctxErr
	}
	if out, ok := w.cmd.OutOrStdout().(*checkedWriter); ok && out.err != nil {
		return out.err
	}
	if err == nil {
		return nil
	}
	w.failed = true
	if p := new(placeError); errors.As(err, &p) && p.name == url {
		err = p.err
	}
	fmt.Fprintln(w.cmd.ErrOrStderr(), cut(fmt.Sprintf("%s %s: %s", w.cmd.CommandPath(), printable(url), w.reason(err))))
	return nil
}

// stat finds a file: with follow, or a slash at the URL's end, where a link leads to.
func (p operand) stat(ctx context.Context, follow bool) (*nfsfs.Info, error) {
	if !follow && !p.dir {
		return p.fs.Lstat(ctx, p.name)
	}
	i, err := p.fs.Stat(ctx, p.name)
	if err == nil && p.dir && !i.IsDir() {
		return nil, nfs3.ErrNotDir
	}
	return i, err
}

// errRoot: an export has its place in the server's configuration.
var errRoot = errors.New("that is the root of the export")

// parent finds the directory that the file has its name in.
func (p operand) parent(ctx context.Context) (dir nfs3.FH, base string, err error) {
	if p.name == "." {
		return nfs3.FH{}, "", errRoot
	}
	i := strings.LastIndexByte(p.name, '/')
	above, err := p.fs.Stat(ctx, p.name[:max(i, 0)])
	if err != nil {
		return nfs3.FH{}, "", err
	}
	if !above.IsDir() {
		return nfs3.FH{}, "", nfs3.ErrNotDir
	}
	return above.Handle(), p.name[i+1:], nil
}

// child returns the operand that has a name in the directory at p.
func (p operand) child(name string) operand {
	p.url, p.dir = childURL(p.url, name), false
	if p.name == "." {
		p.name = name
	} else {
		p.name += "/" + name
	}
	return p
}
