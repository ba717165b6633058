package rig

import (
	"context"
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Forgetful is a connection to a server without a reply cache: each call that makes or removes
// something is executed twice, as if the connection had been lost before the first answer.
type Forgetful struct{ oncrpc.Transport }

// RoundTrip makes a call, some calls twice.
func (f Forgetful) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	// after XID, type and versions (RFC 5531 section 9)
	switch proc := nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[5*4:])); proc {
	case nfs3.ProcMkdir, nfs3.ProcSymlink, nfs3.ProcRemove, nfs3.ProcRmdir, nfs3.ProcRename, nfs3.ProcLink:
		first := *x
		if err := f.Transport.RoundTrip(ctx, &first); err != nil {
			return err
		}
		first.Release()
		x.Repeated = true
	}
	return f.Transport.RoundTrip(ctx, x)
}
