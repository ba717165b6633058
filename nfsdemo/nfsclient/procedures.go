package nfsclient

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// GetAttr returns the attributes of a file.
func (c *Client) GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	var res nfs3.GetAttrRes
	err := c.call(ctx, nfs3.ProcGetAttr, "", &nfs3.GetAttrArgs{File: h}, &res)
	return res.Attr, err
}

// SetAttr changes attributes. If guard is not nil and differs from the file's ctime, the server
// refuses (NFS3ERR_NOT_SYNC).
func (c *Client) SetAttr(
	ctx context.Context, h nfs3.FH, set nfs3.Sattr, guard *nfs3.Time,
) (nfs3.WccData, error) {
	args := nfs3.SetAttrArgs{File: h, Set: set}
	if guard != nil {
		args.Guard, args.Ctime = true, *guard
	}
	var res nfs3.SetAttrRes
	err := c.call(ctx, nfs3.ProcSetAttr, "", &args, &res)
	return res.Wcc, err
}

// Object is a file that was found or made. The server may leave out the attributes.
type Object struct {
	File nfs3.FH
	Attr nfs3.PostOpAttr
}

// Lookup finds a name in a directory.
func (c *Client) Lookup(ctx context.Context, dir nfs3.FH, name string) (Object, error) {
	var res nfs3.LookupRes
	args := nfs3.LookupArgs{What: nfs3.DirOp{Dir: dir, Name: name}}
	err := c.call(ctx, nfs3.ProcLookup, name, &args, &res)
	return Object{res.File, res.Attr}, err
}

// Access returns those rights in want that the caller has.
func (c *Client) Access(ctx context.Context, h nfs3.FH, want nfs3.Access) (nfs3.Access, error) {
	var res nfs3.AccessRes
	err := c.call(ctx, nfs3.ProcAccess, "", &nfs3.AccessArgs{File: h, Want: want}, &res)
	return res.Granted, err
}

// Create makes a regular file.
func (c *Client) Create(
	ctx context.Context, dir nfs3.FH, name string, how nfs3.CreateHow,
) (Object, error) {
	var res nfs3.CreateRes
	args := nfs3.CreateArgs{Where: nfs3.DirOp{Dir: dir, Name: name}, How: how}
	if err := c.call(ctx, nfs3.ProcCreate, name, &args, &res); err != nil {
		return Object{}, err
	}
	return c.made(ctx, dir, name, &res)
}

// Mkdir makes a directory.
func (c *Client) Mkdir(
	ctx context.Context, dir nfs3.FH, name string, set nfs3.Sattr,
) (Object, error) {
	var res nfs3.CreateRes
	args := nfs3.MkdirArgs{Where: nfs3.DirOp{Dir: dir, Name: name}, Set: set}
	if err := c.call(ctx, nfs3.ProcMkdir, name, &args, &res); err != nil {
		return Object{}, err
	}
	return c.made(ctx, dir, name, &res)
}

// made returns the file that was made. If the reply has no handle, it looks the name up.
func (c *Client) made(
	ctx context.Context, dir nfs3.FH, name string, res *nfs3.CreateRes,
) (Object, error) {
	if !res.File.Present {
		return c.Lookup(ctx, dir, name)
	}
	return Object{res.File.FH, res.Attr}, nil
}

// FSStat returns the total and the free space of the file system of h.
func (c *Client) FSStat(ctx context.Context, h nfs3.FH) (nfs3.FSStat, error) {
	var res nfs3.FSStatRes
	err := c.call(ctx, nfs3.ProcFSStat, "", &nfs3.FSStatArgs{Root: h}, &res)
	return res.FSStat, err
}

// FSInfo returns the limits and properties of the server and the file system of h.
func (c *Client) FSInfo(ctx context.Context, h nfs3.FH) (nfs3.FSInfo, error) {
	var res nfs3.FSInfoRes
	err := c.call(ctx, nfs3.ProcFSInfo, "", &nfs3.FSInfoArgs{Root: h}, &res)
	return res.FSInfo, err
}

// PathConf returns the limits of names and links.
func (c *Client) PathConf(ctx context.Context, h nfs3.FH) (nfs3.PathConf, error) {
	var res nfs3.PathConfRes
	err := c.call(ctx, nfs3.ProcPathConf, "", &nfs3.PathConfArgs{File: h}, &res)
	return res.PathConf, err
}

// Commit makes n written bytes at offset off durable. With n 0 it is all from off to the end. If
// the verifier differs from that of a WRITE, the server may have lost its data.
func (c *Client) Commit(
	ctx context.Context, h nfs3.FH, off uint64, n uint32,
) (nfs3.Verifier, error) {
	var res nfs3.CommitRes
	args := nfs3.CommitArgs{File: h, Offset: off, Count: n}
	err := c.call(ctx, nfs3.ProcCommit, "", &args, &res)
	return res.Verf, err
}
