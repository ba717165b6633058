package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// mvFlags are how files are moved.
type mvFlags struct {
	keep   bool // what exists
	asFile bool // the target is no directory to move into
}

func newMvCommand() *cobra.Command {
	var flags mvFlags
	var r remotes
	cmd := &cobra.Command{
		Use:   "mv URL... URL",
		Short: "Rename files, or move them to another directory",
		Long: `Mv gives a file the name of the last URL or, if that is a directory, moves all files into it. Both
are in one export of one server: between others, files are copied with get and put. What has
the new name already is replaced.`,
		Example: `  rpcrdma mv rdma://host/export/old rdma://host/export/new
  rpcrdma mv rdma://host/export/a rdma://host/export/b rdma://host/export/dir`,
		Args: sourcesAndTarget,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return withWork(cmd, &r, urls, func(w *work) error {
				return toTarget(w, urls, flags.asFile, func(from operand, to slot) error { return flags.move(w, from, to) })
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.keep, "no-clobber", "n", false, "leave what has the new name already, and the file where it is")
	f.BoolVarP(&flags.asFile, "no-target-directory", "T", false, "the last URL is the new name, not a directory to move into")
	r.addFlags(cmd)
	return cmd
}

var errSame = errors.New("that is the same file")

// sameFile reports whether attributes are those of one file.
func sameFile(a, b *nfs3.Fattr) bool { return a.FileID == b.FileID && a.FSID == b.FSID }

// move moves one file.
func (f *mvFlags) move(w *work, from operand, to slot) error {
	dir, base, err := from.parent(w.ctx())
	if err != nil {
		return err
	}
	file, err := lookup(w.ctx(), from.client, dir, base)
	if err != nil {
		return err
	}
	if (from.dir || to.slash) && !file.isDir() {
		return nfs3.ErrNotDir
	}
	there, err := lookup(w.ctx(), from.client, to.dir, to.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return about(to.url, err)
	case f.keep:
		return nil
	case sameFile(&there.attr, &file.attr):
		if dir == to.dir && base == to.base || file.isDir() {
			return errSame
		}
		return from.client.Remove(w.ctx(), dir, base) // RENAME leaves both of two links to one file
	}
	err = from.client.Rename(w.ctx(), dir, base, to.dir, to.base)
	if doneBefore(err, nfs3.ErrNoEnt) {
		if there, found := lookup(w.ctx(), from.client, to.dir, to.base); found == nil && sameFile(&there.attr, &file.attr) {
			return nil
		}
	}
	if errors.Is(err, nfs3.ErrInval) && file.isDir() {
		return errors.New("a directory cannot be moved into itself: " + printable(to.url))
	}
	if errors.Is(err, nfs3.ErrExist) || errors.Is(err, nfs3.ErrNotEmpty) || errors.Is(err, nfs3.ErrIsDir) || errors.Is(err, nfs3.ErrNotDir) {
		return about(to.url, err)
	}
	return err
}
