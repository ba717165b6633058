package nfsclient

import (
	"context"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Client calls an NFS server over one connection. Its methods may be called concurrently. Their
// errors are of type *Error. If the server answers NFS3ERR_JUKEBOX, the call is made again, after
// pauses of up to 5 s, until ctx ends.
//
// A transport that reconnects (package oncrpc/redial) may send any call again, as other NFS clients
// do. A server with a reply cache finds the first reply by the transaction id. A server that has
// restarted since, or has no cache, executes the call again; Error.Repeated tells.
type Client struct {
	rpc    *oncrpc.Client
	cred   oncrpc.ClientFlavor
	reads  sync.Pool // *readCall
	writes sync.Pool // *writeCall
}

// New returns a client that sends cred with each call. The interceptors wrap each NFS call, the
// first one outermost. Calls of MOUNT do not pass through them.
func New(
	t oncrpc.Transport, cred oncrpc.ClientFlavor, interceptors ...oncrpc.ClientInterceptor,
) *Client {
	rpc := oncrpc.NewClient(t, nfs3.Program, nfs3.Version, cred, interceptors...)
	return &Client{rpc: rpc, cred: cred}
}

// results are the results of a procedure.
type results interface {
	oncrpc.Unmarshaler
	StatusPtr() *nfs3.Status
}

// call calls a procedure. name is for the error.
func (c *Client) call(
	ctx context.Context, p nfs3.Proc, name string, args oncrpc.Marshaler, res results,
) error {
	return c.list(ctx, p, name, args, res, 0)
}

// list calls a procedure whose results also have a list or a path of up to length bytes.
func (c *Client) list(
	ctx context.Context, p nfs3.Proc, name string, args oncrpc.Marshaler, res results, length int,
) error {
	r := oncrpc.Request{Procedure: uint32(p), Args: args, Reply: res,
		MaxReply: p.Info().MaxReply + length, MayRepeat: true, Once: p.Info().Once}
	return c.do(ctx, name, &r, res)
}

// do makes a call. While the server answers NFS3ERR_JUKEBOX, it makes it again, with new
// transaction ids.
func (c *Client) do(ctx context.Context, name string, r *oncrpc.Request, res results) error {
	for pause := minJukebox; ; pause = min(2*pause, maxJukebox) {
		err := c.once(ctx, r, res)
		if err == nfs3.ErrJukebox {
			if err = jukebox(ctx, pause); err == nil {
				continue
			}
		}
		if err != nil {
			return &Error{nfs3.Proc(r.Procedure).String(), name, r.Repeated, err}
		}
		return nil
	}
}

func (c *Client) once(ctx context.Context, r *oncrpc.Request, res results) error {
	if err := c.rpc.Do(ctx, r); err != nil {
		return err
	}
	if s := *res.StatusPtr(); s != nfs3.OK {
		return s
	}
	return nil
}

// Null calls the procedure that does nothing.
func (c *Client) Null(ctx context.Context) error {
	r := oncrpc.Request{Procedure: uint32(nfs3.ProcNull), MayRepeat: true}
	if err := c.rpc.Do(ctx, &r); err != nil {
		return &Error{nfs3.ProcNull.String(), "", r.Repeated, err}
	}
	return nil
}
