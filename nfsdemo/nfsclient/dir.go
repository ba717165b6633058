package nfsclient

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Largest reply to a READDIRPLUS in bytes, and how much of it may be names. The
// transport provides that memory with each call.
const (
	dirReply = 128 << 10
	dirNames = 32 << 10
)

// ReadDir returns the entries of a directory without "." and "..". An error ends it.
func (c *Client) ReadDir(ctx context.Context, dir nfs3.FH) iter.Seq2[nfs3.Entry, error] {
	return func(yield func(nfs3.Entry, error) bool) {
		args := nfs3.ReadDirPlusArgs{Dir: dir, DirCount: dirNames, MaxCount: dirReply}
		var res nfs3.ReadDirPlusRes
		for {
			err := c.call(ctx, nfs3.ProcReadDirPlus, "", &args, &res, nfs3.ReadDirPlusMax(dirReply))
			if err == nil && len(res.Entries) == 0 && !res.EOF {
				err = &Error{nfs3.ProcReadDirPlus.String(), "", errNoEntries}
			}
			if err != nil {
				yield(nfs3.Entry{}, err)
				return
			}
			for _, e := range res.Entries {
				if e.Name != "." && e.Name != ".." && !yield(e, nil) {
					return
				}
				args.Cookie = e.Cookie
			}
			if res.EOF {
				return
			}
			args.Verf = res.Verf
		}
	}
}

var errNoEntries = errors.New("neither entries nor the end of the directory")

// Walk calls visit with every file below a directory, and its path relative to the
// directory, a directory before what is in it. Entries have their handle and
// attributes. An error of visit ends the walk, save that fs.SkipDir passes over a
// directory.
func (c *Client) Walk(ctx context.Context, dir nfs3.FH, visit func(name string, e nfs3.Entry) error) error {
	return c.walk(ctx, dir, "", visit)
}

func (c *Client) walk(ctx context.Context, dir nfs3.FH, prefix string, visit func(string, nfs3.Entry) error) error {
	for e, err := range c.ReadDir(ctx, dir) {
		if err != nil {
			return err
		}
		if err := c.complete(ctx, dir, &e); err != nil {
			return err
		}
		name := path.Join(prefix, e.Name)
		err := visit(name, e)
		if e.Attr.Attr.Type == nfs3.TypeDir {
			if err == fs.SkipDir {
				continue
			}
			if err == nil {
				err = c.walk(ctx, e.File.FH, name, visit)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// complete asks for what the server left out of an entry.
func (c *Client) complete(ctx context.Context, dir nfs3.FH, e *nfs3.Entry) error {
	if !e.File.Present {
		o, err := c.Lookup(ctx, dir, e.Name)
		if err != nil {
			return err
		}
		e.File, e.Attr = nfs3.PostOpFH{Present: true, FH: o.File}, o.Attr
	}
	if !e.Attr.Present {
		attr, err := c.GetAttr(ctx, e.File.FH)
		if err != nil {
			return err
		}
		e.Attr = nfs3.Attrs(attr)
	}
	return nil
}

// LookupPath finds a path below a directory, one LOOKUP a name. The path of the
// directory itself is "" or ".".
func (c *Client) LookupPath(ctx context.Context, dir nfs3.FH, name string) (Object, error) {
	at := Object{File: dir}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." {
			continue
		}
		o, err := c.Lookup(ctx, at.File, part)
		if err != nil {
			return Object{}, err
		}
		at = o
	}
	if !at.Attr.Present {
		attr, err := c.GetAttr(ctx, at.File)
		if err != nil {
			return Object{}, err
		}
		at.Attr = nfs3.Attrs(attr)
	}
	return at, nil
}
