package oncrpc

import (
	"context"
	"encoding/binary"
	"net"
)

// ClientCall is a call as a ClientInterceptor sees it, until that returns.
type ClientCall struct {
	Program, Version uint32
	*Request
	Flavor AuthFlavor
	Peer   net.Addr
	// XID is the transaction id of its last transmission, when next has returned; 0 if there was
	// none.
	XID uint32
}

// ClientInterceptor is around a call: it calls next, which makes the call and returns how it has
// ended, and returns that, or something else. It may give next another context, and may call it
// more than once. The error of next is what the *CallError that Client.Do returns wraps.
type ClientInterceptor func(ctx context.Context, c *ClientCall, next func(ctx context.Context, c *ClientCall) error) error

// intercepted returns what makes a call with interceptors around it, the first outermost.
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
