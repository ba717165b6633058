package files

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/copying"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// LnFlags are the flags of ln.
type LnFlags struct {
	symbolic bool
	Force    bool
	asFile   bool
}

// NewLn returns the command ln.
func NewLn() *cobra.Command {
	var flags LnFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "ln {URL... | -s TARGET...} URL",
		Short: "Make links",
		Long: `Ln gives files the last URL as a further name or, if that is a directory, names in it. With -s
it makes symbolic links. TARGET is then the text of the link: a path on the server, absolute or
relative to the directory of the link. Ln does not check where it leads.`,
		Example: `  rpcrdma ln rdma://host/export/file rdma://host/export/other-name
  rpcrdma ln -s ../file rdma://host/export/dir/link`,
		Args: remote.SourcesAndTarget,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, &r, args) },
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.symbolic, "symbolic", "s", false, "make symbolic links")
	f.BoolVarP(&flags.Force, "force", "f", false, "replace what has the name already")
	f.BoolVarP(&flags.asFile, "no-target-directory", "T", false, "the last URL is the new name, not a directory")
	r.AddFlags(cmd)
	return cmd
}

func (f *LnFlags) run(cmd *cobra.Command, r *remote.Session, args []string) error {
	if !f.symbolic {
		return remote.WithWork(cmd, r, args, func(w *remote.Work) error {
			return remote.ToTarget(w, args, f.asFile, func(from remote.Operand, to remote.Slot) error {
				return f.Hard(w, from, to)
			})
		})
	}
	targets, last := args[:len(args)-1], args[len(args)-1]
	for _, target := range targets {
		if err := checkLinkTarget(target); err != nil {
			return cli.UsageError{Err: err}
		}
	}
	return remote.WithWork(cmd, r, args[len(args)-1:], func(w *remote.Work) error {
		to, find, err := remote.TargetOf(w, last, f.asFile, len(targets))
		if err != nil {
			return w.Fail(last, err)
		}
		for _, target := range targets {
			at, err := find(path.Base(target))
			if err == nil {
				err = f.link(w, to.Client, at, func(name string) error {
					return Symlink(w, to.Client, at.Dir, name, target)
				})
			}
			if at.URL == "" {
				at.URL = last
			}
			if err := w.Fail(at.URL, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// Symlink makes a symbolic link.
func Symlink(w *remote.Work, c *nfsclient.Client, dir nfs3.FH, name, target string) error {
	_, err := c.Symlink(w.Ctx(), dir, name, target, nfs3.Sattr{})
	if words.DoneBefore(err, nfs3.ErrExist) {
		if made, found := remote.Lookup(w.Ctx(), c, dir, name); found == nil && made.Attr.Type == nfs3.TypeLnk {
			if is, found := c.ReadLink(w.Ctx(), made.File); found == nil && is == target {
				return nil
			}
		}
	}
	return err
}

// checkLinkTarget refuses an empty target, and a URL.
func checkLinkTarget(s string) error {
	switch {
	case s == "":
		return errors.New("the target of a symbolic link must not be empty")
	case strings.HasPrefix(s, "rdma://"), strings.HasPrefix(s, "tcp://"):
		return fmt.Errorf("%s: a symbolic link leads to a path on its own server: write /PATH, or a path relative "+
			"to the link", cli.Printable(s))
	}
	return nil
}

// Hard makes a hard link to a file, or to a symbolic link itself.
func (f *LnFlags) Hard(w *remote.Work, from remote.Operand, to remote.Slot) error {
	i, err := from.Stat(w.Ctx(), false)
	if err != nil {
		return err
	}
	if i.IsDir() {
		return errors.New("is a directory, which can have only one name: use ln -s")
	}
	there, err := remote.Lookup(w.Ctx(), from.Client, to.Dir, to.Base)
	if err == nil && remote.SameFile(&there.Attr, i.Attr()) {
		return remote.ErrSame
	}
	return f.link(w, from.Client, to, func(name string) error {
		_, err := from.Client.Link(w.Ctx(), i.Handle(), to.Dir, name)
		if words.DoneBefore(err, nfs3.ErrExist) {
			if made, found := remote.Lookup(w.Ctx(), from.Client, to.Dir, name); found == nil &&
				remote.SameFile(&made.Attr, i.Attr()) {
				return nil
			}
		}
		return err
	})
}

// link calls make to make a link. To replace a file, it makes the link beside it and renames it, so
// that one of the two always exists.
func (f *LnFlags) link(w *remote.Work, c *nfsclient.Client, to remote.Slot, make func(name string) error) error {
	if to.Slash {
		return nfs3.ErrNotDir
	}
	err := make(to.Base)
	if !f.Force || !errors.Is(err, nfs3.ErrExist) {
		if errors.Is(err, nfs3.ErrExist) {
			return words.About(to.URL, err)
		}
		return err
	}
	if there, err := remote.Lookup(w.Ctx(), c, to.Dir, to.Base); err == nil && there.IsDir() {
		return words.About(to.URL, nfs3.ErrIsDir)
	}
	beside := copying.Temporary(to.Base)
	if err := make(beside); err != nil {
		return err
	}
	if err := c.Rename(w.Ctx(), to.Dir, beside, to.Dir, to.Base); err != nil && !words.DoneBefore(err, nfs3.ErrNoEnt) {
		return errors.Join(err, c.Remove(w.Ctx(), to.Dir, beside))
	}
	return nil
}
