package files

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// RmFlags are the flags of rm.
type RmFlags struct {
	Recursive bool
	Empty     bool // directories that are empty
	force     bool
	partials  bool // temporary files of copies
}

// NewRm returns the command rm.
func NewRm() *cobra.Command {
	var flags RmFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "rm URL...",
		Short: "Remove files",
		Long: `Rm removes files, and with -r directories and all that is in them. It does not ask, whatever the
modes of the files are. It removes a link, not what the link leads to. It does not remove the
root of an export, nor what a URL that ends with . or .. names.

With --partials, the URLs are directories, which stay. Rm removes the temporary files in them:
those that get, put, cp and ln -f leave when they are killed, named .rpcrdma- and ten
characters. With -r it also removes those in directories below. Copies to there that are under
way fail. ls -a shows the files; -v prints the names of those that rm removes.`,
		Example: `  rpcrdma rm rdma://host/export/file
  rpcrdma rm -rf rdma://host/export/tree`,
		SuggestFor: []string{"del", "unlink"},
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.force && len(args) == 0 {
				return nil
			}
			return cli.SomeURLs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, urls []string) error {
			return remote.WithWork(cmd, &r, urls, func(w *remote.Work) error {
				urls, err := w.Expand(urls)
				if err != nil {
					return err
				}
				for _, url := range urls {
					if err := w.Fail(url, flags.one(w, url)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.Recursive, "recursive", "r", false,
		"remove directories, too, with all that is in them; the same as -R")
	f.BoolVarP(&flags.Recursive, "recursive-too", "R", false, "")
	_ = f.MarkHidden("recursive-too") // it exists
	f.BoolVarP(&flags.Empty, "dir", "d", false, "remove empty directories, too")
	f.BoolVarP(&flags.force, "force", "f", false,
		"ignore files that do not exist; a pattern that matches nothing is still an error")
	f.BoolVar(&flags.partials, "partials", false, "remove temporary files that copies have left in the directories")
	r.AddFlags(cmd)
	return cmd
}

// errDots is for URLs that end with . or .., which rm(1) refuses, too.
var errDots = errors.New("refusing to remove '.' or '..'")

// one removes what is at a URL.
func (f *RmFlags) one(w *remote.Work, url string) error {
	if f.partials {
		return f.removePartials(w, url)
	}
	if reach.EndsInDots(url) {
		return errDots
	}
	p, err := w.Open(url)
	if err == nil {
		err = f.Remove(w, p)
	}
	if f.force && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, nfs3.ErrNotDir)) {
		return nil
	}
	return err
}

// Remove removes what is at p.
func (f *RmFlags) Remove(w *remote.Work, p remote.Operand) error {
	dir, base, err := p.Parent(w.Ctx())
	if err != nil {
		return err
	}
	e, err := remote.Lookup(w.Ctx(), p.Client, dir, base)
	if err != nil {
		return err
	}
	switch {
	case p.Dir && !e.IsDir():
		return nfs3.ErrNotDir
	case !e.IsDir():
		err := p.Client.Remove(w.Ctx(), dir, base)
		if words.DoneBefore(err, nfs3.ErrNoEnt) {
			return nil
		}
		return err
	case !f.Recursive && !f.Empty:
		return errors.New("is a directory: use -d if it is empty, or -r to remove all that is in it")
	case !f.Recursive:
		err := p.Client.Rmdir(w.Ctx(), dir, base)
		if words.DoneBefore(err, nfs3.ErrNoEnt) {
			return nil
		}
		return err
	}
	t := treeRemoval{w, p.Client}
	_, err = t.tree(p.URL, dir, e, 0)
	return err
}

// treeRemoval is the removal of a tree, under way.
type treeRemoval struct {
	*remote.Work
	client *nfsclient.Client
}

// tree removes a directory and its contents. It reports what it cannot remove, and then leaves the
// directory. The error is about the directory itself, or ends the command.
func (r *treeRemoval) tree(url string, above nfs3.FH, d remote.Entry, depth int) (all bool, err error) {
	if depth > remote.MaxDepth {
		return false, remote.ErrDepth
	}
	// List all before removing the first: a removal may invalidate cookies.
	files, dirs, err := remote.ContentsOf(r.Ctx(), r.client, d.File)
	if err != nil {
		return false, err
	}
	all = true
	errs := remote.AtOnce(len(files), func(i int) error {
		return words.IgnoreGone(r.client.Remove(r.Ctx(), d.File, files[i].Name))
	})
	for i, err := range errs {
		all = all && err == nil
		if err := r.Fail(reach.ChildURL(url, files[i].Name), err); err != nil {
			return false, err
		}
	}
	for _, e := range dirs {
		gone, err := r.tree(reach.ChildURL(url, e.Name), d.File, e, depth+1)
		all = all && gone && err == nil
		if err := r.Fail(reach.ChildURL(url, e.Name), err); err != nil {
			return false, err
		}
	}
	if !all {
		return false, nil
	}
	return true, words.IgnoreGone(r.client.Rmdir(r.Ctx(), above, d.Name))
}
