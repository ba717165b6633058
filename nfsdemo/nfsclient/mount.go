package nfsclient

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Mount returns the handle of a directory that the server exports. It calls the MOUNT program on
// the client's own connection.
func (c *Client) Mount(ctx context.Context, dir string) (nfs3.FH, error) {
	return Mount(ctx, c.rpc.Transport(), c.cred, dir)
}

// Mount returns the handle of a directory that the server at the other end of t exports. t leads to
// the MOUNT program.
func Mount(
	ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor, dir string,
) (nfs3.FH, error) {
	var res mount3.MntRes
	r := oncrpc.Request{Args: &mount3.MntArgs{Path: dir}, Reply: &res}
	err := mountCall(ctx, t, cred, mount3.ProcMnt, dir, &r)
	if err == nil && res.Status != mount3.OK {
		err = &Error{mount3.ProcMnt.String(), dir, r.Repeated, res.Status}
	}
	if err != nil {
		return nfs3.FH{}, err
	}
	return res.Root, nil
}

// Unmount tells the MOUNT program that this host no longer uses a directory. It changes nothing but
// the server's list of mounts.
func Unmount(
	ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor, dir string,
) error {
	r := oncrpc.Request{Args: &mount3.MntArgs{Path: dir}}
	return mountCall(ctx, t, cred, mount3.ProcUmnt, dir, &r)
}

// UnmountAll is Unmount for all directories that this host has mounted.
func UnmountAll(ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor) error {
	return mountCall(ctx, t, cred, mount3.ProcUmntAll, "", &oncrpc.Request{})
}

// Exports returns the exports of the server, and which hosts may use them.
func Exports(
	ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor,
) ([]mount3.Export, error) {
	var res mount3.ExportRes
	err := mountCall(ctx, t, cred, mount3.ProcExport, "", &oncrpc.Request{Reply: &res})
	return res.Exports, err
}

// Dump returns the mounts that the server remembers.
func Dump(
	ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor,
) ([]mount3.Mount, error) {
	var res mount3.DumpRes
	err := mountCall(ctx, t, cred, mount3.ProcDump, "", &oncrpc.Request{Reply: &res})
	return res.Mounts, err
}

// mountCall calls a procedure of the MOUNT program. name is for the error.
func mountCall(
	ctx context.Context, t oncrpc.Transport, cred oncrpc.ClientFlavor,
	p mount3.Proc, name string, r *oncrpc.Request,
) error {
	r.Procedure, r.MaxReply, r.MayRepeat = uint32(p), p.Info().MaxReply, true
	if err := oncrpc.NewClient(t, mount3.Program, mount3.Version, cred).Do(ctx, r); err != nil {
		return &Error{p.String(), name, r.Repeated, err}
	}
	return nil
}
