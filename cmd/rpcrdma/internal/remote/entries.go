package remote

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Entry is a file in a directory.
type Entry struct {
	Name string
	File nfs3.FH
	Attr nfs3.Fattr
}

// IsDir reports whether it is a directory.
func (e Entry) IsDir() bool { return e.Attr.Type == nfs3.TypeDir }

// EntryError is an error about one entry of a directory. The entry that comes with it has only a
// name.
type EntryError struct{ Err error }

func (e *EntryError) Error() string { return e.Err.Error() }

func (e *EntryError) Unwrap() error { return e.Err }

// EntriesOf lists a directory, and looks up what the server leaves out of the list. It goes on
// after an EntryError, and skips files that disappear meanwhile. Walk a tree by these handles, not
// by names: then a link that replaces a directory cannot lead out of the tree.
func EntriesOf(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for listed, err := range c.ReadDir(ctx, dir) {
			e := Entry{listed.Name, listed.File.FH, listed.Attr.Attr}
			if err == nil {
				if err = complete(ctx, c, dir, &e, listed); errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if errors.As(err, new(nfs3.Status)) {
					e, err = Entry{Name: e.Name}, &EntryError{words.Unseen(err)}
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// ContentsOf returns the files and the directories in a directory. It returns what it has listed
// before an error, such as an EndlessError, together with the error. It leaves out entries that it
// cannot look up.
func ContentsOf(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) (files, dirs []Entry, err error) {
	var unseen error
	for e, err := range Bounded(EntriesOf(ctx, c, dir), MostHeld) {
		switch {
		case errors.As(err, new(*EntryError)):
			if unseen == nil {
				unseen = words.About(e.Name, err)
			}
		case err != nil:
			return files, dirs, err
		case e.IsDir():
			dirs = append(dirs, e)
		default:
			files = append(files, e)
		}
	}
	return files, dirs, unseen
}

// Lookup finds one file of a directory.
func Lookup(ctx context.Context, c *nfsclient.Client, dir nfs3.FH, name string) (Entry, error) {
	e := Entry{Name: name}
	err := complete(ctx, c, dir, &e, nfs3.Entry{})
	return e, err
}

// complete looks up what the list leaves out.
func complete(ctx context.Context, c *nfsclient.Client, dir nfs3.FH, e *Entry, listed nfs3.Entry) error {
	attr := listed.Attr
	if !listed.File.Present {
		o, err := c.Lookup(ctx, dir, e.Name)
		if err != nil {
			return err
		}
		e.File, attr = o.File, o.Attr
	}
	if attr.Present {
		e.Attr = attr.Attr
		return nil
	}
	var err error
	e.Attr, err = c.GetAttr(ctx, e.File)
	return err
}
