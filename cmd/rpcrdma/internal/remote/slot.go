package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Slot is a name that a file may get.
type Slot struct {
	Dir   nfs3.FH
	Base  string
	URL   string
	Slash bool // the URL says that it is a directory
}

// errNoName: a source such as / has no name to use in a directory.
var errNoName = errors.New("is a directory: add the new name to the URL")

// errDotsName: a file cannot be moved or linked under the name . or .. .
var errDotsName = errors.New("the URL must end with the name of the file, not '.' or '..'")

// slotAt returns the slot of an operand.
func slotAt(w *Work, p Operand) (Slot, error) {
	dir, base, err := p.Parent(w.Ctx())
	return Slot{dir, base, p.URL, p.Dir}, err
}

// SourcesAndTarget checks the arguments of commands whose last argument is the target.
func SourcesAndTarget(_ *cobra.Command, args []string) error {
	if len(args) < 2 {
		return cli.UsageError{Err: errors.New("too few arguments: the last one names the target")}
	}
	return nil
}

// ToTarget calls do with each URL but the last, and with its slot: in the last URL if that is a
// directory, unless asFile is set, or else at the last URL.
func ToTarget(w *Work, urls []string, asFile bool, do func(from Operand, to Slot) error) error {
	last := urls[len(urls)-1]
	sources, err := w.Expand(urls[:len(urls)-1])
	if err != nil || len(sources) == 0 {
		return err
	}
	to, find, err := TargetOf(w, last, asFile, len(sources))
	if err != nil {
		return w.Fail(last, err)
	}
	for _, url := range sources {
		from, err := w.Open(url)
		if reach.EndsInDots(url) {
			err = errDotsName
		}
		if err == nil && !sameExport(from, to) {
			err = fmt.Errorf("not in the same export of the same server as %s: use cp", cli.Printable(last))
		}
		if err == nil && from.Name == "." {
			err = ErrRoot
		}
		var at Slot
		if err == nil {
			at, err = find(path.Base(from.Name))
		}
		if err == nil {
			err = do(from, at)
		}
		if err := w.Fail(url, err); err != nil {
			return err
		}
	}
	return nil
}

// TargetOf opens the last URL of a command. The function that it returns gives the slot for a file
// of a given name; n files are to go there. A link that leads nowhere, or that this client cannot
// follow, counts as a file.
func TargetOf(w *Work, url string, asFile bool, n int) (Operand, func(name string) (Slot, error), error) {
	to, err := w.Open(url)
	if err != nil {
		return Operand{}, nil, err
	}
	i, err := to.Stat(w.Ctx(), !asFile)
	if err != nil && !to.Dir {
		if link, noLink := to.Stat(w.Ctx(), false); noLink == nil && link.Attr().Type == nfs3.TypeLnk {
			i, err = link, nil
		}
	}
	switch {
	case err == nil && i.IsDir() && !asFile:
		return to, func(name string) (Slot, error) {
			if name == "." || name == "/" || name == ".." {
				return Slot{}, errNoName
			}
			return Slot{i.Handle(), name, reach.ChildURL(url, name), false}, nil
		}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Operand{}, nil, err
	case n > 1:
		return Operand{}, nil, nfs3.ErrNotDir
	}
	at, err := slotAt(w, to)
	return to, func(string) (Slot, error) { return at, nil }, err
}

// sameExport reports whether two files are in the same export.
func sameExport(a, b Operand) bool {
	x, _ := reach.ParseTarget(a.URL)
	y, _ := reach.ParseTarget(b.URL)
	return x.Scheme == y.Scheme && strings.EqualFold(x.Addr(), y.Addr()) && a.Root.Export == b.Root.Export
}
