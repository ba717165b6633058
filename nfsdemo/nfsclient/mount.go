package nfsclient

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// maxList is the longest list of exports or mounts that is taken, in bytes.
const maxList = 2 << 20

// Mount asks the MOUNT program on the client's own connection for the handle of a
// directory that the server exports.
func (c *Client) Mount(ctx context.Context, dir string) (nfs3.FH, error) {
	return Mount(ctx, c.rpc.Transport(), c.cred, dir)
}

// Mount asks the MOUNT program at the other end of t for the handle of a directory.
func Mount(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor, dir string) (nfs3.FH, error) {
	var res mount3.MntRes
	r := oncrpc.Request{Procedure: uint32(mount3.ProcMnt), Args: &mount3.MntArgs{Path: dir}, Reply: &res, MaxReply: mount3.MntResMax}
	err := mountCall(ctx, t, cred, dir, &r)
	if err == nil && res.Status != mount3.OK {
		err = &Error{mount3.ProcMnt.String(), dir, r.Repeated, res.Status}
	}
	if err != nil {
		return nfs3.FH{}, err
	}
	return res.Root, nil
}

// Unmount tells the MOUNT program at the other end of t that a directory is not mounted from here any more. The
// server's list of mounts is the only thing that this changes.
func Unmount(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor, dir string) error {
	return mountCall(ctx, t, cred, dir, &oncrpc.Request{Procedure: uint32(mount3.ProcUmnt), Args: &mount3.MntArgs{Path: dir}})
}

// UnmountAll is Unmount of everything.
func UnmountAll(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor) error {
	return mountCall(ctx, t, cred, "", &oncrpc.Request{Procedure: uint32(mount3.ProcUmntAll)})
}

// Exports asks the MOUNT program at the other end of t what it exports, and to whom.
func Exports(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor) ([]mount3.Export, error) {
	var res mount3.ExportRes
	err := mountCall(ctx, t, cred, "", &oncrpc.Request{Procedure: uint32(mount3.ProcExport), Reply: &res, MaxReply: maxList})
	return res.Exports, err
}

// Dump asks the MOUNT program at the other end of t who has mounted what, as far as it
// remembers.
func Dump(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor) ([]mount3.Mount, error) {
	var res mount3.DumpRes
	err := mountCall(ctx, t, cred, "", &oncrpc.Request{Procedure: uint32(mount3.ProcDump), Reply: &res, MaxReply: maxList})
	return res.Mounts, err
}

// mountCall calls a procedure of the MOUNT program; name is for the error. To execute any of them again does no harm.
func mountCall(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor, name string, r *oncrpc.Request) error {
	r.MayRepeat = true
	if err := oncrpc.NewClient(t, mount3.Program, mount3.Version, cred).Do(ctx, r); err != nil {
		return &Error{mount3.Proc(r.Procedure).String(), name, r.Repeated, err}
	}
	return nil
}
