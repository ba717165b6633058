package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// rmFlags are what is removed.
type rmFlags struct {
	recursive bool
	empty     bool // directories that are empty
	force     bool
}

func newRmCommand() *cobra.Command {
	var flags rmFlags
	var r remotes
	cmd := &cobra.Command{
		Use:   "rm URL...",
		Short: "Remove files",
		Long: `Rm removes files, and with -r directories and all that is in them. It does not ask, whatever the
files' modes are. A link is removed, not what it leads to. The root of an export stays, and so
does what a URL that ends with . or .. names.`,
		Example: `  rpcrdma rm rdma://host/export/file
  rpcrdma rm -rf rdma://host/export/tree`,
		SuggestFor: []string{"rmdir", "del", "unlink"},
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.force && len(args) == 0 {
				return nil
			}
			return someURLs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, urls []string) error {
			return withWork(cmd, &r, urls, func(w *work) error {
				for _, url := range urls {
					if err := w.fail(url, flags.one(w, url)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.recursive, "recursive", "r", false, "directories, too, with all that is in them; so does -R")
	f.BoolVarP(&flags.recursive, "recursive-too", "R", false, "")
	_ = f.MarkHidden("recursive-too") // it exists
	f.BoolVarP(&flags.empty, "dir", "d", false, "directories, too, if they are empty")
	f.BoolVarP(&flags.force, "force", "f", false, "what does not exist is fine")
	r.addFlags(cmd)
	return cmd
}

// errDots: rm(1) has these for mistakes, too.
var errDots = errors.New("refusing to remove '.' or '..'")

// one removes what is at a URL.
func (f *rmFlags) one(w *work, url string) error {
	if endsInDots(url) {
		return errDots
	}
	p, err := w.open(url)
	if err == nil {
		err = f.remove(w, p)
	}
	if f.force && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, nfs3.ErrNotDir)) {
		return nil
	}
	return err
}

// remove removes what is at p.
func (f *rmFlags) remove(w *work, p operand) error {
	dir, base, err := p.parent(w.ctx())
	if err != nil {
		return err
	}
	e, err := lookup(w.ctx(), p.client, dir, base)
	if err != nil {
		return err
	}
	switch {
	case p.dir && !e.isDir():
		return nfs3.ErrNotDir
	case !e.isDir():
		err := p.client.Remove(w.ctx(), dir, base)
		if doneBefore(err, nfs3.ErrNoEnt) {
			return nil
		}
		return err
	case !f.recursive && !f.empty:
		return errors.New("is a directory: -d removes an empty one, -r one with all that is in it")
	case !f.recursive:
		err := p.client.Rmdir(w.ctx(), dir, base)
		if doneBefore(err, nfs3.ErrNoEnt) {
			return nil
		}
		return err
	}
	t := treeRemoval{w, p.client}
	_, err = t.tree(p.url, dir, e, 0)
	return err
}

// treeRemoval is the removal of a tree, under way.
type treeRemoval struct {
	*work
	client *nfsclient.Client
}

// tree removes a directory. What cannot be removed is reported, and then the directory stays. The error is about the
// directory itself, or one to end with.
func (r *treeRemoval) tree(url string, above nfs3.FH, d entry, depth int) (all bool, err error) {
	if depth > maxDepth {
		return false, errDepth
	}
	files, dirs, err := contentsOf(r.ctx(), r.client, d.file) // all of them before the first goes: cookies may not outlast a removal
	if err != nil {
		return false, err
	}
	all = true
	errs := atOnce(len(files), func(i int) error { return ignoreGone(r.client.Remove(r.ctx(), d.file, files[i].name)) })
	for i, err := range errs {
		all = all && err == nil
		if err := r.fail(childURL(url, files[i].name), err); err != nil {
			return false, err
		}
	}
	for _, e := range dirs {
		gone, err := r.tree(childURL(url, e.name), d.file, e, depth+1)
		all = all && gone && err == nil
		if err := r.fail(childURL(url, e.name), err); err != nil {
			return false, err
		}
	}
	if !all {
		return false, nil
	}
	return true, ignoreGone(r.client.Rmdir(r.ctx(), above, d.name))
}
