package oncrpc

import (
	"context"
	"encoding/binary"
	"net"
)

// ClientCall is a call presented to a ClientInterceptor. It is valid until the interceptor returns.
type ClientCall struct {
	Program, Version uint32
	*Request
	Flavor AuthFlavor
	Peer   net.Addr
	// XID is the transaction id of the last transmission, set when next has returned; 0 if nothing
	// was sent.
	XID uint32
}

// ClientInterceptor runs around a call. It calls next, which makes the call and returns its error,
// and then returns that error or another. It may pass next another context, and may call next more
// than once. The error of next is the plain cause; Client.Do wraps the final error in a *CallError.
type ClientInterceptor func(
	ctx context.Context, c *ClientCall, next func(ctx context.Context, c *ClientCall) error,
) error

// intercepted returns a function that makes a call with interceptors around it, the first
// outermost.
func (c *Client) intercepted(interceptors []ClientInterceptor) func(context.Context, *ClientCall) error {
	if len(interceptors) == 0 {
		return nil
	}
	h := func(ctx context.Context, cc *ClientCall) error {
		var err error
		cc.XID, err = c.do(ctx, cc.Request)
		return err
	}
	for i := len(interceptors) - 1; i >= 0; i-- {
		intercept, next := interceptors[i], h
		h = func(ctx context.Context, cc *ClientCall) error { return intercept(ctx, cc, next) }
	}
	return h
}

// xid returns the transaction id of the last transmission.
func (x *call) xid() uint32 {
	if m := x.Call.Inline; len(m) >= 4 {
		return binary.BigEndian.Uint32(m)
	}
	return 0
}
