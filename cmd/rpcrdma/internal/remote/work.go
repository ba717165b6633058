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

// Reason is words.Reason, and for a permission error it also says who was refused.
func (w *Work) Reason(err error) string {
	text := words.Reason(err)
	if !errors.Is(err, nfs3.ErrAcces) && !errors.Is(err, nfs3.ErrPerm) {
		return text
	}
	return text + w.Remotes.denied()
}

// denied continues "permission denied" with who was refused.
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

// DeniedTo continues "permission denied" with a principal, and says that the server may not know
// it.
func DeniedTo(principal string) string {
	return " to " + principal + "; if the server has no such user, it takes this principal for " +
		"nobody, and its log says so"
}

// Work is a running command on files of servers. It reports errors of files and goes on.
type Work struct {
	Cmd     *cobra.Command
	Remotes *Session
	failed  bool
}

// Operand is the file that a URL names. It need not exist.
type Operand struct {
	*Export
	URL  string // as it was given
	Name string // in FS
	Dir  bool   // the URL ends with a slash: a link is followed
}

// OnURLs opens each URL and calls do with it. It returns a usage error before it does anything,
// cli.ErrReported if something failed, or the context's error.
func OnURLs(cmd *cobra.Command, r *Session, urls []string, do func(w *Work, p Operand) error) (err error) {
	return WithWork(cmd, r, urls, func(w *Work) error { return w.each(urls, do) })
}

// each opens each URL and calls do with it.
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

// OnFiles is OnURLs with all files that match the URLs.
func OnFiles(cmd *cobra.Command, r *Session, urls []string, do func(w *Work, p Operand) error) (err error) {
	return WithWork(cmd, r, urls, func(w *Work) error {
		urls, err := w.Expand(urls)
		if err != nil {
			return err
		}
		return w.each(urls, do)
	})
}

// Expand returns the URLs of all files that match the URLs. It reports URLs without a match.
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

// WithWork checks the URLs, and calls do, which reports errors by w.Fail.
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

// Open opens the file of a URL.
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

// Fail reports an error about a URL. It returns an error only if the command must end: if the
// context has ended, or the output is lost.
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
	fmt.Fprintln(w.Cmd.ErrOrStderr(),
		cli.Cut(fmt.Sprintf("%s %s: %s", w.Cmd.CommandPath(), cli.Printable(url), w.Reason(err))))
	return nil
}

// Stat returns the attributes of a file. With follow, or a slash at the URL's end, it follows a
// link.
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

// ErrRoot is returned for operations on the root of an export, which only the server's
// configuration can change.
var ErrRoot = errors.New("that is the root of the export")

// Parent returns the directory of the file, and its name there.
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

// Child returns the operand for a name in the directory p.
func (p Operand) Child(name string) Operand {
	p.URL, p.Dir = reach.ChildURL(p.URL, name), false
	if p.Name == "." {
		p.Name = name
	} else {
		p.Name += "/" + name
	}
	return p
}
