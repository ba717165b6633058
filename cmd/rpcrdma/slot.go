package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// slot is where a file may get a name.
type slot struct {
	dir   nfs3.FH
	base  string
	url   string
	slash bool // the URL says that it is a directory
}

// errNoName: what goes into a directory needs a name there.
var errNoName = errors.New("is a directory: add the name that is to be in it")

// errDotsName: such a name is not one to move or to link.
var errDotsName = errors.New("the URL must end with the name of the file, not '.' or '..'")

// slotAt returns the slot of an operand.
func slotAt(w *work, p operand) (slot, error) {
	dir, base, err := p.parent(w.ctx())
	return slot{dir, base, p.url, p.dir}, err
}

// sourcesAndTarget is for commands whose last argument is where to.
func sourcesAndTarget(_ *cobra.Command, args []string) error {
	if len(args) < 2 {
		return usageError{errors.New("there are at least two arguments: the last one is where to")}
	}
	return nil
}

// toTarget calls do with all URLs but the last, and where the last says that they go: into that, if it is a directory and unless asFile.
func toTarget(w *work, urls []string, asFile bool, do func(from operand, to slot) error) error {
	sources, last := urls[:len(urls)-1], urls[len(urls)-1]
	to, find, err := targetOf(w, last, asFile, len(sources))
	if err != nil {
		return w.fail(last, err)
	}
	for _, url := range sources {
		from, err := w.open(url)
		if endsInDots(url) {
			err = errDotsName
		}
		if err == nil && !sameExport(from, to) {
			err = fmt.Errorf("not in the same export of the same server as %s: use get and put", printable(last))
		}
		if err == nil && from.name == "." {
			err = errRoot
		}
		var at slot
		if err == nil {
			at, err = find(path.Base(from.name))
		}
		if err == nil {
			err = do(from, at)
		}
		if err := w.fail(url, err); err != nil {
			return err
		}
	}
	return nil
}

// targetOf opens the last URL of a command, and returns how the slot for n files of given names is found there. A link that leads
// nowhere, or to where this client cannot follow, is a name like others.
func targetOf(w *work, url string, asFile bool, n int) (operand, func(name string) (slot, error), error) {
	to, err := w.open(url)
	if err != nil {
		return operand{}, nil, err
	}
	i, err := to.stat(w.ctx(), !asFile)
	if err != nil && !to.dir {
		if link, noLink := to.stat(w.ctx(), false); noLink == nil && link.Attr().Type == nfs3.TypeLnk {
			i, err = link, nil
		}
	}
	switch {
	case err == nil && i.IsDir() && !asFile:
		return to, func(name string) (slot, error) {
			if name == "." || name == "/" || name == ".." {
				return slot{}, errNoName
			}
			return slot{i.Handle(), name, childURL(url, name), false}, nil
		}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return operand{}, nil, err
	case n > 1:
		return operand{}, nil, nfs3.ErrNotDir
	}
	at, err := slotAt(w, to)
	return to, func(string) (slot, error) { return at, nil }, err
}

// sameExport reports whether files can have names in common.
func sameExport(a, b operand) bool {
	x, _ := parseTarget(a.url)
	y, _ := parseTarget(b.url)
	return x.scheme == y.scheme && strings.EqualFold(x.addr(), y.addr()) && a.root.Export == b.root.Export
}
