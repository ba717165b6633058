package nfsclient

import (
	"context"
	"errors"
	"iter"
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

// maxName is the longest name that a server may list, in bytes: that of Linux.
const maxName = 255

// ReadDir returns the entries of a directory without "." and "..". An error ends it. A name that is
// empty, longer than 255 bytes, or has a '/' or a NUL in it is an error. A server that does not
// support READDIRPLUS is asked by READDIR, and the entries have neither attributes nor handles;
// other servers may leave them out, too.
func (c *Client) ReadDir(ctx context.Context, dir nfs3.FH) iter.Seq2[nfs3.Entry, error] {
	return func(yield func(nfs3.Entry, error) bool) {
		args := nfs3.ReadDirPlusArgs{Dir: dir, DirCount: dirNames, MaxCount: dirReply}
		var res nfs3.ReadDirPlusRes
		way := way{limit: 1}
		list := c.readDirPlus
		for {
			err := list(ctx, &args, &res)
			if args.Cookie == 0 && errors.Is(err, nfs3.ErrNotSupp) {
				list = c.readDir
				err = list(ctx, &args, &res)
			}
			if err == nil && !res.EOF {
				err = way.moves(args.Cookie, res.Entries)
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

func (c *Client) readDirPlus(
	ctx context.Context, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes,
) error {
	return c.list(ctx, nfs3.ProcReadDirPlus, "", args, res, dirReply)
}

// readDir is readDirPlus with names alone.
func (c *Client) readDir(
	ctx context.Context, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes,
) error {
	names := nfs3.ReadDirArgs{Dir: args.Dir, Cookie: args.Cookie, Verf: args.Verf, Count: dirNames}
	listed := nfs3.ReadDirRes{ReadDirPlusRes: *res}
	err := c.list(ctx, nfs3.ProcReadDir, "", &names, &listed, dirNames)
	*res = listed.ReadDirPlusRes
	return err
}

var (
	errNoEntries = errors.New("neither entries nor the end of the directory")
	errLoop      = errors.New("the listing goes round in circles")
	errName      = errors.New("impossible name")
)

// listing returns the error of a listing in which something is wrong with name.
func listing(name string, err error) error {
	return &Error{Op: nfs3.ProcReadDirPlus.String(), Name: name, Err: err}
}

// way is the cookies that a listing came by. Of these it keeps one, and takes a later one after
// twice as many replies each time, which finds any circle (R. P. Brent's algorithm).
type way struct {
	cookie       uint64
	since, limit int // replies since it, and after how many it is replaced
}

// moves checks that a reply to which more follows leads on, to where the listing was not yet.
func (w *way) moves(from uint64, entries []nfs3.Entry) error {
	if len(entries) == 0 {
		return listing("", errNoEntries)
	}
	next := entries[len(entries)-1].Cookie
	if next == w.cookie || next == from {
		return listing("", errLoop)
	}
	if w.since++; w.since == w.limit {
		*w = way{cookie: next, limit: 2 * w.limit}
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
