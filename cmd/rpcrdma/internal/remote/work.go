package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// Reason adds who was not permitted to do it.
func (w *Work) Reason(err error) string {
	text := words.Reason(err)
	if !errors.Is(err, nfs3.ErrAcces) && !errors.Is(err, nfs3.ErrPerm) {
		return text
	}
	return text + w.Remotes.denied()
}

// denied says whom servers have refused something.
func (r *Session) denied() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.Servers {
		if s.hasContexts() {
			return DeniedTo(r.Flags.Kerberos.Name())
		}
	}
	text := r.Flags.Identity.Denied()
	for _, s := range r.Servers {
		for _, m := range s.Exports {
			if why := s.Fallback(&m.Root); why != "" {
				return text + "; " + why
			}
		}
	}
	return text
}

// DeniedTo says which principal a server has refused something, and what may be behind it: servers
// take whom they do not know for nobody.
func DeniedTo(principal string) string {
	return " to " + principal + "; if the server has no such user, it takes this principal for " +
		"nobody: its log says so"
}

// Work is a command on files of servers, under way. It goes on when a file makes trouble.
type Work struct {
	Cmd     *cobra.Command
	Remotes *Session
	failed  bool
}

// Operand is a file, there or not, that a URL names.
type Operand struct {
	*Export
	URL  string // as it was given
	Name string // in remote.fs
	Dir  bool   // the URL ends with a slash: a link is followed
}

// OnURLs opens all URLs and calls do with each. It returns a usage error before anything is done,
// or in the end ErrReported if something failed, or the context's error.
func OnURLs(cmd *cobra.Command, r *Session, urls []string, do func(w *Work, p Operand) error) (err error) {
	return WithWork(cmd, r, urls, func(w *Work) error { return w.each(urls, do) })
}

// each opens URLs and calls do with each.
func (w *Work) each(urls []string, do func(w *Work, p Operand) error) error {
	for _, url := range urls {
		p, err := w.Open(url)
		if err == nil {
			err = do(w, p)
		}
		if err := w.Fail(url, err); err != nil {
			return err
		}
	}
	return nil
}

// OnFiles is OnURLs with all files that the URLs stand for.
func OnFiles(cmd *cobra.Command, r *Session, urls []string, do func(w *Work, p Operand) error) (err error) {
	return WithWork(cmd, r, urls, func(w *Work) error {
		urls, err := w.Expand(urls)
		if err != nil {
			return err
		}
		return w.each(urls, do)
	})
}

// Expand returns the URLs of all files that URLs stand for. It reports those that stand for none.
func (w *Work) Expand(urls []string) (all []string, err error) {
	for _, url := range urls {
		some, err := w.Remotes.Expand(w.Ctx(), url)
		if err := w.Fail(url, err); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// WithWork checks the URLs, and calls do, which reports by w.fail what one of them has.
func WithWork(cmd *cobra.Command, r *Session, urls []string, do func(w *Work) error) (err error) {
	for _, url := range urls {
		if _, err := reach.ParseTarget(url); err != nil {
			return err
		}
	}
	defer func() {
		if closed := r.Close(); err == nil {
			err = closed
		}
	}()
	w := &Work{Cmd: cmd, Remotes: r}
	if err := do(w); err != nil {
		return err
	}
	if w.failed {
		return cli.ErrReported
	}
	return nil
}

// Open finds what a URL names.
func (w *Work) Open(url string) (Operand, error) {
	t, err := reach.ParseTarget(url)
	if err != nil {
		return Operand{}, err
	}
	m, name, err := w.Remotes.Open(w.Ctx(), url)
	return Operand{m, url, name, strings.HasSuffix(t.Path, "/")}, err
}

// Ctx is the command's context.
func (w *Work) Ctx() context.Context { return w.Cmd.Context() }

// Fail reports an error that is about a URL. It returns those after which the command shall not go
// on: its context has ended, or its output is lost.
func (w *Work) Fail(url string, err error) error {
	if ctxErr := w.Ctx().Err(); ctxErr != nil {
		return ctxErr
	}
	if out, ok := w.Cmd.OutOrStdout().(*cli.CheckedWriter); ok && out.Err != nil {
		return out.Err
	}
	if err == nil {
		return nil
	}
	w.failed = true
	if p := new(words.AboutError); errors.As(err, &p) && p.Name == url {
		err = p.Err
	}
	fmt.Fprintln(w.Cmd.ErrOrStderr(), cli.Cut(fmt.Sprintf("%s %s: %s", w.Cmd.CommandPath(), cli.Printable(url), w.Reason(err))))
	return nil
}

// Stat finds a file: with follow, or a slash at the URL's end, where a link leads to.
func (p Operand) Stat(ctx context.Context, follow bool) (*nfsfs.Info, error) {
	if !follow && !p.Dir {
		return p.FS.Lstat(ctx, p.Name)
	}
	i, err := p.FS.Stat(ctx, p.Name)
	if err == nil && p.Dir && !i.IsDir() {
		return nil, nfs3.ErrNotDir
	}
	return i, err
}

// ErrRoot: an export has its place in the server's configuration.
var ErrRoot = errors.New("that is the root of the export")

// Parent finds the directory that the file has its name in.
func (p Operand) Parent(ctx context.Context) (dir nfs3.FH, base string, err error) {
	if p.Name == "." {
		return nfs3.FH{}, "", ErrRoot
	}
	i := strings.LastIndexByte(p.Name, '/')
	above, err := p.FS.Stat(ctx, p.Name[:max(i, 0)])
	if err != nil {
		return nfs3.FH{}, "", err
	}
	if !above.IsDir() {
		return nfs3.FH{}, "", nfs3.ErrNotDir
	}
	return above.Handle(), p.Name[i+1:], nil
}

// Child returns the operand that has a name in the directory at p.
func (p Operand) Child(name string) Operand {
	p.URL, p.Dir = reach.ChildURL(p.URL, name), false
	if p.Name == "." {
		p.Name = name
	} else {
		p.Name += "/" + name
	}
	return p
}
