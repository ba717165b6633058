package nfsclient

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// The largest reply to a READDIRPLUS in bytes, and how many of these may be names. The transport
// reserves that memory for each call.
const (
	dirReply = 128 << 10
	dirNames = 32 << 10
)

// maxName is the longest name in bytes that a server may list, as in Linux.
const maxName = 255

// ReadDir returns the entries of a directory, without "." and "..". An error is the last thing that
// it yields. Names that are empty, longer than 255 bytes, or contain '/' or NUL are an error. If
// the server does not support READDIRPLUS, it uses READDIR; entries then have no attributes and
// handles. Other servers may leave them out as well.
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

// readDir is readDirPlus by READDIR, without attributes and handles.
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

// listing returns an error about a listing, or about a name in it.
func listing(name string, err error) error {
	return &Error{Op: nfs3.ProcReadDirPlus.String(), Name: name, Err: err}
}

// way notices when a listing goes round in circles (Brent's algorithm). It keeps one cookie, and
// replaces it by the current one after 1, 2, 4, ... replies.
type way struct {
	cookie       uint64
	since, limit int // replies since cookie was kept, and until it is replaced
}

// moves checks that a reply which is not the last brings the listing to a new place.
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

// checkName refuses names that could lead out of the directory.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return listing(strconv.Quote(name[:min(len(name), maxName)]), errName)
	}
	return nil
}
