package gss

import (
	"context"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// destroyCall is the flavour of the call that ends a context: that of a data call, but for the
// procedure (RFC 2203 section 5.4). It has no arguments and no results to protect.
type destroyCall struct{ clientCheck }

func (d *destroyCall) Flavor() oncrpc.AuthFlavor                   { return oncrpc.FlavorGSS }
func (d *destroyCall) Ready(context.Context, *oncrpc.Client) error { return nil }
func (d *destroyCall) Slack() int                                  { return d.cc.slack }
func (d *destroyCall) AllowsPlacement() bool                       { return true }
func (d *destroyCall) RetryDenied(*oncrpc.AuthError) bool          { return false }

func (d *destroyCall) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	return d, d.seal(e, procDestroy, None, args)
}

// destroy has the server of c forget a context.
func (cc *clientContext) destroy(ctx context.Context, c *oncrpc.Client) error {
	program, version := c.Program()
	d := &destroyCall{clientCheck{cc: cc}}
	return oncrpc.NewClient(c.Transport(), program, version, d).Call(ctx, 0, nil, nil)
}

// replace has a context destroyed when the calls with it have ended. The server has forgotten those
// that it denied, or that have expired.
func (f *ClientFlavor) replace(cc *clientContext, now time.Time) {
	if cc == nil || cc.stale.Load() || cc.expired(now) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.replaced) == maxReplaced {
		f.replaced = slices.Delete(f.replaced, 0, 1)
	}
	f.replaced = append(f.replaced, cc)
	f.hasReplaced.Store(true)
}

// destroyReplaced destroys the contexts that were replaced, and with which no call is under way any
// more. It is best effort: the server forgets them by itself in the end.
func (f *ClientFlavor) destroyReplaced(ctx context.Context, c *oncrpc.Client, now time.Time) {
	f.mu.Lock()
	var over []*clientContext
	f.replaced = slices.DeleteFunc(f.replaced, func(cc *clientContext) bool {
		unused := cc.used.Load() == 0
		if unused && !cc.expired(now) {
			over = append(over, cc)
		}
		return unused || cc.expired(now)
	})
	f.hasReplaced.Store(len(f.replaced) > 0)
	f.mu.Unlock()
	if len(over) == 0 {
		return
	}
	ctx, cancel := ahead(ctx, destroyTimeout)
	defer cancel()
	for _, cc := range over {
		_ = cc.destroy(ctx, c)
	}
}

// Close has the server of c forget the context, if there is one (RFC 2203 section 5.4). Calls that
// are under way with it may be made once more with a new one, as may be later ones. The error is an
// *OpError; this end forgets the context in any case.
func (f *ClientFlavor) Close(ctx context.Context, c *oncrpc.Client) error {
	const op = "destroy context"
	select {
	case f.making <- struct{}{}:
		defer func() { <-f.making }()
	case <-ctx.Done():
		return f.opError(op, c, ctx.Err())
	}
	now := f.cfg.Now()
	f.destroyReplaced(ctx, c, now)
	cc := f.current.Load()
	if cc == nil || cc.expired(now) || cc.stale.Swap(true) {
		return nil
	}
	if err := cc.destroy(ctx, c); err != nil {
		return f.opError(op, c, err)
	}
	return nil
}
