package files

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// MvFlags are the flags of mv.
type MvFlags struct {
	keep   bool // do not replace a file
	asFile bool // the target is no directory to move into
}

// NewMv returns the command mv.
func NewMv() *cobra.Command {
	var flags MvFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "mv URL... URL",
		Short: "Rename files, or move them to another directory",
		Long: `Mv gives a file the name of the last URL or, if that is a directory, moves all files into it.
All URLs must be in one export of one server; to move files elsewhere, copy them with cp, or get
and put. A file that has the new name already is replaced.`,
		Example: `  rpcrdma mv rdma://host/export/old rdma://host/export/new
  rpcrdma mv rdma://host/export/a rdma://host/export/b rdma://host/export/dir`,
		Args: remote.SourcesAndTarget,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return remote.WithWork(cmd, &r, urls, func(w *remote.Work) error {
				return remote.ToTarget(w, urls, flags.asFile, func(from remote.Operand, to remote.Slot) error {
					return flags.Move(w, from, to)
				})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.keep, "no-clobber", "n", false,
		"do not replace what has the new name already; the file stays where it is")
	f.BoolVarP(&flags.asFile, "no-target-directory", "T", false,
		"the last URL is the new name, not a directory to move into")
	r.AddFlags(cmd)
	return cmd
}

// Move moves one file.
func (f *MvFlags) Move(w *remote.Work, from remote.Operand, to remote.Slot) error {
	dir, base, err := from.Parent(w.Ctx())
	if err != nil {
		return err
	}
	file, err := remote.Lookup(w.Ctx(), from.Client, dir, base)
	if err != nil {
		return err
	}
	if (from.Dir || to.Slash) && !file.IsDir() {
		return nfs3.ErrNotDir
	}
	there, err := remote.Lookup(w.Ctx(), from.Client, to.Dir, to.Base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return words.About(to.URL, err)
	case f.keep:
		return nil
	case remote.SameFile(&there.Attr, &file.Attr):
		if dir == to.Dir && base == to.Base || file.IsDir() {
			return remote.ErrSame
		}
		return from.Client.Remove(w.Ctx(), dir, base) // RENAME leaves both of two links to one file
	}
	err = from.Client.Rename(w.Ctx(), dir, base, to.Dir, to.Base)
	if words.DoneBefore(err, nfs3.ErrNoEnt) {
		if there, found := remote.Lookup(w.Ctx(), from.Client, to.Dir, to.Base); found == nil &&
			remote.SameFile(&there.Attr, &file.Attr) {
			return nil
		}
	}
	if errors.Is(err, nfs3.ErrInval) && file.IsDir() {
		return errors.New("a directory cannot be moved into itself: " + cli.Printable(to.URL))
	}
	if errors.Is(err, nfs3.ErrExist) || errors.Is(err, nfs3.ErrNotEmpty) || errors.Is(err, nfs3.ErrIsDir) ||
		errors.Is(err, nfs3.ErrNotDir) {
		return words.About(to.URL, err)
	}
	return err
}
