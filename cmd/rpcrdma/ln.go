package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// lnFlags are how links are made.
type lnFlags struct {
	symbolic bool
	force    bool
	asFile   bool
}

func newLnCommand() *cobra.Command {
	var flags lnFlags
	var r remotes
	cmd := &cobra.Command{
		Use:   "ln {URL... | -s TARGET...} URL",
		Short: "Make links",
		Long: `Ln gives files the further name of the last URL or, if that is a directory, names in it. With -s it
makes symbolic links: TARGET is the text of the link, a path on the server, relative to the
directory of the link or absolute. Nobody checks where it leads.`,
		Example: `  rpcrdma ln rdma://host/export/file rdma://host/export/other-name
  rpcrdma ln -s ../file rdma://host/export/dir/link`,
		Args: sourcesAndTarget,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, &r, args) },
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.symbolic, "symbolic", "s", false, "make symbolic links")
	f.BoolVarP(&flags.force, "force", "f", false, "replace what has the name already")
	f.BoolVarP(&flags.asFile, "no-target-directory", "T", false, "the last URL is the new name, not a directory")
	r.addFlags(cmd)
	return cmd
}

func (f *lnFlags) run(cmd *cobra.Command, r *remotes, args []string) error {
	if !f.symbolic {
		return withWork(cmd, r, args, func(w *work) error {
			return toTarget(w, args, f.asFile, func(from operand, to slot) error { return f.hard(w, from, to) })
		})
	}
	targets, last := args[:len(args)-1], args[len(args)-1]
	for _, target := range targets {
		if err := checkLinkTarget(target); err != nil {
			return usageError{err}
		}
	}
	return withWork(cmd, r, args[len(args)-1:], func(w *work) error {
		to, find, err := targetOf(w, last, f.asFile, len(targets))
		if err != nil {
			return w.fail(last, err)
		}
		for _, target := range targets {
			at, err := find(path.Base(target))
			if err == nil {
				err = f.link(w, to.client, at, func(name string) error {
					return symlink(w, to.client, at.dir, name, target)
				})
			}
			if at.url == "" {
				at.url = last
			}
			if err := w.fail(at.url, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// symlink makes a symbolic link.
func symlink(w *work, c *nfsclient.Client, dir nfs3.FH, name, target string) error {
	_, err := c.Symlink(w.ctx(), dir, name, target, nfs3.Sattr{})
	if doneBefore(err, nfs3.ErrExist) {
		if made, found := lookup(w.ctx(), c, dir, name); found == nil && made.attr.Type == nfs3.TypeLnk {
			if is, found := c.ReadLink(w.ctx(), made.file); found == nil && is == target {
				return nil
			}
		}
	}
	return err
}

// checkLinkTarget refuses what is no text of a link.
func checkLinkTarget(s string) error {
	switch {
	case s == "":
		return errors.New("a symbolic link has a text: the target must not be empty")
	case strings.HasPrefix(s, "rdma://"), strings.HasPrefix(s, "tcp://"):
		return fmt.Errorf("%s: a symbolic link leads to a path of its server: write /PATH, or one relative to the link", printable(s))
	}
	return nil
}

// hard makes a hard link to a file, or to a symbolic link itself.
func (f *lnFlags) hard(w *work, from operand, to slot) error {
	i, err := from.stat(w.ctx(), false)
	if err != nil {
		return err
	}
	if i.IsDir() {
		return errors.New("is a directory, which has one name: ln -s links to it")
	}
	there, err := lookup(w.ctx(), from.client, to.dir, to.base)
	if err == nil && sameFile(&there.attr, i.Attr()) {
		return errSame
	}
	return f.link(w, from.client, to, func(name string) error {
		_, err := from.client.Link(w.ctx(), i.Handle(), to.dir, name)
		if doneBefore(err, nfs3.ErrExist) {
			if made, found := lookup(w.ctx(), from.client, to.dir, name); found == nil && sameFile(&made.attr, i.Attr()) {
				return nil
			}
		}
		return err
	})
}

// link has make make a link. To replace a file, the link is made beside it first, so that there is always one of the two.
func (f *lnFlags) link(w *work, c *nfsclient.Client, to slot, make func(name string) error) error {
	if to.slash {
		return nfs3.ErrNotDir
	}
	err := make(to.base)
	if !f.force || !errors.Is(err, nfs3.ErrExist) {
		if errors.Is(err, nfs3.ErrExist) {
			return about(to.url, err)
		}
		return err
	}
	if there, err := lookup(w.ctx(), c, to.dir, to.base); err == nil && there.isDir() {
		return about(to.url, nfs3.ErrIsDir)
	}
	beside := temporary(to.base)
	if err := make(beside); err != nil {
		return err
	}
	if err := c.Rename(w.ctx(), to.dir, beside, to.dir, to.base); err != nil && !doneBefore(err, nfs3.ErrNoEnt) {
		return errors.Join(err, c.Remove(w.ctx(), to.dir, beside))
	}
	return nil
}
