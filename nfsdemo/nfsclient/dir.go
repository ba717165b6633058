package nfsclient

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Largest reply to a READDIRPLUS in bytes, and how much of it may be names. The
// transport provides that memory with each call.
const (
	dirReply = 128 << 10
	dirNames = 32 << 10
)

// Longest name that a server may list and longest path that Walk follows, in bytes. Both are
// those of Linux.
const (
	maxName = 255
	maxPath = 4096
)

// ReadDir returns the entries of a directory without "." and "..". An error ends it. A
// name that is empty, longer than 255 bytes, or has a '/' or a NUL in it is an error.
// A server that does not support READDIRPLUS is asked by READDIR, and the entries have neither attributes
// nor handles; other servers may leave them out, too.
func (c *Client) ReadDir(ctx context.Context, dir nfs3.FH) iter.Seq2[nfs3.Entry, error] {
	return func(yield func(nfs3.Entry, error) bool) {
		args := nfs3.ReadDirPlusArgs{Dir: dir, DirCount: dirNames, MaxCount: dirReply}
		var res nfs3.ReadDirPlusRes
		list := c.readDirPlus
		for {
			err := list(ctx, &args, &res)
			if args.Cookie == 0 && errors.Is(err, nfs3.ErrNotSupp) {
				list = c.readDir
				err = list(ctx, &args, &res)
			}
			if err == nil && !res.EOF {
				err = moves(args.Cookie, res.Entries)
			}
			if err != nil {
				yield(nfs3.Entry{}, err)
				return
			}
			for _, e := range res.Entries {
				if err := checkName(e.Name); err != nil {
					yield(nfs3.Entry{}, err)
					return
				}
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

func (c *Client) readDirPlus(ctx context.Context, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
	return c.call(ctx, nfs3.ProcReadDirPlus, "", args, res, nfs3.ReadDirPlusMax(dirReply))
}

// readDir is readDirPlus with names alone.
func (c *Client) readDir(ctx context.Context, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
	names := nfs3.ReadDirArgs{Dir: args.Dir, Cookie: args.Cookie, Verf: args.Verf, Count: dirNames}
	listed := nfs3.ReadDirRes{ReadDirPlusRes: *res}
	err := c.call(ctx, nfs3.ProcReadDir, "", &names, &listed, nfs3.ReadDirPlusMax(dirNames))
	*res = listed.ReadDirPlusRes
	return err
}

var (
	errNoEntries = errors.New("neither entries nor the end of the directory")
	errCookie    = errors.New("the last entry has the cookie that was asked with")
	errName      = errors.New("impossible name")
	errPath      = errors.New("path too long")
	errLoop      = errors.New("a directory is below itself")
)

// listing returns the error of a listing in which something is wrong with name.
func listing(name string, err error) error {
	return &Error{nfs3.ProcReadDirPlus.String(), name, err}
}

// moves checks that a reply to which more follows leads on.
func moves(from uint64, entries []nfs3.Entry) error {
	if len(entries) == 0 {
		return listing("", errNoEntries)
	}
	if entries[len(entries)-1].Cookie == from {
		return listing("", errCookie)
	}
	return nil
}

// checkName refuses names that would lead out of the directory, or nowhere.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return listing(strconv.Quote(name[:min(len(name), maxName)]), errName)
	}
	return nil
}

// Walk calls visit with every file below a directory, and its path relative to the
// directory, a directory before what is in it. Entries have their handle and
// attributes. An error of visit ends the walk, save that fs.SkipDir passes over a
// directory. Paths longer than 4096 bytes and a directory below itself are errors.
func (c *Client) Walk(ctx context.Context, dir nfs3.FH, visit func(name string, e nfs3.Entry) error) error {
	return c.walk(ctx, []nfs3.FH{dir}, "", visit)
}

// walk walks the last of dirs; the others are those above it.
func (c *Client) walk(ctx context.Context, dirs []nfs3.FH, prefix string, visit func(string, nfs3.Entry) error) error {
	dir := dirs[len(dirs)-1]
	for e, err := range c.ReadDir(ctx, dir) {
		if err != nil {
			return err
		}
		if err := c.complete(ctx, dir, &e); err != nil {
			return err
		}
		name := path.Join(prefix, e.Name)
		if len(name) > maxPath {
			return listing(e.Name, errPath)
		}
		err := visit(name, e)
		if e.Attr.Attr.Type == nfs3.TypeDir {
			if err == fs.SkipDir {
				continue
			}
			if err == nil && slices.Contains(dirs, e.File.FH) {
				err = listing(e.Name, errLoop)
			}
			if err == nil {
				err = c.walk(ctx, append(dirs, e.File.FH), name, visit)
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
