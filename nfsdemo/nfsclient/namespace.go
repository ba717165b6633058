package nfsclient

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Symlink makes a symbolic link that contains path.
func (c *Client) Symlink(
	ctx context.Context, dir nfs3.FH, name, path string, set nfs3.Sattr,
) (Object, error) {
	var res nfs3.CreateRes
	args := nfs3.SymlinkArgs{Where: nfs3.DirOp{Dir: dir, Name: name}, Set: set, Path: path}
	if err := c.call(ctx, nfs3.ProcSymlink, name, &args, &res); err != nil {
		return Object{}, err
	}
	return c.made(ctx, dir, name, &res)
}

// maxPath is the longest path of a symbolic link in bytes. Linux has no longer ones.
const maxPath = 4096

var errPath = errors.New("the path in the symbolic link is too long")

// ReadLink returns the path in a symbolic link. A path longer than 4096 bytes is an error.
func (c *Client) ReadLink(ctx context.Context, h nfs3.FH) (string, error) {
	var res nfs3.ReadLinkRes
	err := c.list(ctx, nfs3.ProcReadLink, "", &nfs3.ReadLinkArgs{File: h}, &res, maxPath)
	if err == nil && len(res.Path) > maxPath {
		return "", &Error{Op: nfs3.ProcReadLink.String(), Err: errPath}
	}
	return res.Path, err
}

// Mknod makes a FIFO, a socket or a device (nfs3.TypeFIFO, TypeSock, TypeChr, TypeBlk). rdev has
// the numbers of a device.
func (c *Client) Mknod(
	ctx context.Context, dir nfs3.FH, name string, kind nfs3.FileType, rdev nfs3.Specdata,
	set nfs3.Sattr,
) (Object, error) {
	var res nfs3.CreateRes
	args := nfs3.MknodArgs{
		Where: nfs3.DirOp{Dir: dir, Name: name}, Type: kind, Set: set, Rdev: rdev,
	}
	if err := c.call(ctx, nfs3.ProcMknod, name, &args, &res); err != nil {
		return Object{}, err
	}
	return c.made(ctx, dir, name, &res)
}

// Remove removes a name of a file that is not a directory.
func (c *Client) Remove(ctx context.Context, dir nfs3.FH, name string) error {
	return c.remove(ctx, nfs3.ProcRemove, dir, name)
}

// Rmdir removes an empty directory.
func (c *Client) Rmdir(ctx context.Context, dir nfs3.FH, name string) error {
	return c.remove(ctx, nfs3.ProcRmdir, dir, name)
}

func (c *Client) remove(ctx context.Context, p nfs3.Proc, dir nfs3.FH, name string) error {
	args := nfs3.RemoveArgs{What: nfs3.DirOp{Dir: dir, Name: name}}
	return c.call(ctx, p, name, &args, new(nfs3.RemoveRes))
}

// Rename gives a file another name, in the same or another directory of the file system. A file
// that has that name already is replaced.
func (c *Client) Rename(
	ctx context.Context, from nfs3.FH, fromName string, to nfs3.FH, toName string,
) error {
	args := nfs3.RenameArgs{
		From: nfs3.DirOp{Dir: from, Name: fromName},
		To:   nfs3.DirOp{Dir: to, Name: toName},
	}
	return c.call(ctx, nfs3.ProcRename, fromName, &args, new(nfs3.RenameRes))
}

// Link gives a file another name. It returns the file's attributes, if the server sends them.
func (c *Client) Link(ctx context.Context, h, dir nfs3.FH, name string) (nfs3.PostOpAttr, error) {
	var res nfs3.LinkRes
	args := nfs3.LinkArgs{File: h, Where: nfs3.DirOp{Dir: dir, Name: name}}
	err := c.call(ctx, nfs3.ProcLink, name, &args, &res)
	return res.Attr, err
}
