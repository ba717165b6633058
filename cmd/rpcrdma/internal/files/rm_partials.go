package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/copying"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// removePartials removes temporary files from the directory at a URL.
func (f *RmFlags) removePartials(w *remote.Work, url string) error {
	p, err := w.Open(url)
	if err != nil {
		return err
	}
	i, err := p.Stat(w.Ctx(), true)
	if err != nil {
		return err
	}
	if !i.IsDir() {
		return nfs3.ErrNotDir
	}
	return f.partialsIn(w, p, remote.Entry{File: i.Handle(), Attr: *i.Attr()}, 0)
}

// partialsIn removes temporary files from a directory and, with -r, from those in it. It reports
// what fails there. The error is about the directory itself, or ends the command.
func (f *RmFlags) partialsIn(w *remote.Work, p remote.Operand, d remote.Entry, depth int) error {
	if depth > remote.MaxDepth {
		return remote.ErrDepth
	}
	// List all before removing the first.
	files, dirs, err := remote.ContentsOf(w.Ctx(), p.Client, d.File)
	if err != nil {
		return err
	}
	left := files[:0]
	for _, e := range files {
		if copying.IsTemporary(e.Name) && (e.Attr.Type == nfs3.TypeReg || e.Attr.Type == nfs3.TypeLnk) {
			left = append(left, e)
		}
	}
	slices.SortFunc(left, func(a, b remote.Entry) int { return strings.Compare(a.Name, b.Name) })
	errs := remote.AtOnce(len(left), func(i int) error {
		return words.IgnoreGone(p.Client.Remove(w.Ctx(), d.File, left[i].Name))
	})
	for i, err := range errs {
		url := reach.ChildURL(p.URL, left[i].Name)
		if err == nil && w.Remotes.Verbose {
			_, err = fmt.Fprintf(w.Cmd.OutOrStdout(), "removed %s\n", cli.Printable(url))
		}
		if err := w.Fail(url, err); err != nil {
			return err
		}
	}
	if !f.Recursive {
		return nil
	}
	for _, e := range dirs {
		below := p.Child(e.Name)
		if err := w.Fail(below.URL, f.partialsIn(w, below, e, depth+1)); err != nil {
			return err
		}
	}
	return nil
}
