package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// entry is a file in a directory.
type entry struct {
	name string
	file nfs3.FH
	attr nfs3.Fattr
}

func (e entry) isDir() bool { return e.attr.Type == nfs3.TypeDir }

// entriesOf lists a directory, with what the server leaves out of its list. Files that go meanwhile are passed over. A tree is gone
// through by handle, not by name: whoever puts a link in place of a directory does not lead a command out of the tree.
func entriesOf(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for listed, err := range c.ReadDir(ctx, dir) {
			e := entry{listed.Name, listed.File.FH, listed.Attr.Attr}
			if err == nil {
				if err = complete(ctx, c, dir, &e, listed); errors.Is(err, fs.ErrNotExist) {
					continue
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// contentsOf returns what is in a directory, other directories by themselves. What is listed before an error is returned with it.
func contentsOf(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) (files, dirs []entry, err error) {
	for e, err := range entriesOf(ctx, c, dir) {
		switch {
		case err != nil:
			return files, dirs, err
		case e.isDir():
			dirs = append(dirs, e)
		default:
			files = append(files, e)
		}
	}
	return files, dirs, nil
}

// lookup finds one file of a directory.
func lookup(ctx context.Context, c *nfsclient.Client, dir nfs3.FH, name string) (entry, error) {
	e := entry{name: name}
	err := complete(ctx, c, dir, &e, nfs3.Entry{})
	return e, err
}

// complete asks for what is not listed.
func complete(ctx context.Context, c *nfsclient.Client, dir nfs3.FH, e *entry, listed nfs3.Entry) error {
	attr := listed.Attr
	if !listed.File.Present {
		o, err := c.Lookup(ctx, dir, e.name)
		if err != nil {
			return err
		}
		e.file, attr = o.File, o.Attr
	}
	if attr.Present {
		e.attr = attr.Attr
		return nil
	}
	var err error
	e.attr, err = c.GetAttr(ctx, e.file)
	return err
}
