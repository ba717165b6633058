package nfsclient

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Mount asks the MOUNT program on the client's own connection for the handle of a
// directory that the server exports.
func (c *Client) Mount(ctx context.Context, dir string) (nfs3.FH, error) {
	return Mount(ctx, c.rpc.Transport(), c.cred, dir)
}

// Mount asks the MOUNT program at the other end of t for the handle of a directory.
func Mount(ctx context.Context, t oncrpc.Transport, cred oncrpc.Auth, dir string) (nfs3.FH, error) {
	var res mount3.MntRes
	err := oncrpc.NewClient(t, mount3.Program, mount3.Version, cred).Do(ctx, &oncrpc.Request{
		Procedure: uint32(mount3.ProcMnt),
		Args:      &mount3.MntArgs{Path: dir},
		Reply:     &res,
		MaxReply:  mount3.MntMax,
	})
	if err == nil && res.Status != mount3.OK {
		err = res.Status
	}
	if err != nil {
		return nfs3.FH{}, &Error{mount3.ProcMnt.String(), dir, err}
	}
	return res.Root, nil
}
