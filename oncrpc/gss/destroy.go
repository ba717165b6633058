package gss

import (
	"context"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// destroyCall is the flavour of the call that destroys a context. Apart from the procedure, it
// equals that of a data call (RFC 2203 section 5.4). The call has neither arguments nor results to
// protect.
type destroyCall struct{ clientCheck }

func (d *destroyCall) Flavor() oncrpc.AuthFlavor                   { return oncrpc.FlavorGSS }
func (d *destroyCall) Ready(context.Context, *oncrpc.Client) error { return nil }
func (d *destroyCall) Slack() int                                  { return d.cc.slack }
func (d *destroyCall) AllowsPlacement() bool                       { return true }
func (d *destroyCall) RetryDenied(*oncrpc.AuthError) bool          { return false }

func (d *destroyCall) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	seq, err := d.cc.nextSeq()
	if err != nil {
		return nil, err
	}
	d.begin(d.cc.Context, None, seq)
	return d, d.seal(e, procDestroy, args)
}

// destroy asks the server of c to destroy a context.
func (cc *clientContext) destroy(ctx context.Context, c *oncrpc.Client) error {
	program, version := c.Program()
	d := &destroyCall{clientCheck{cc: cc}}
	return oncrpc.NewClient(c.Transport(), program, version, d).Call(ctx, 0, nil, nil)
}

// replace schedules a context to be destroyed when its calls have ended. Contexts that the server
// denied or that have expired need no destroying.
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

// destroyReplaced destroys the replaced contexts that no pending call uses. It ignores errors,
// because the server forgets contexts by itself in the end.
func (f *ClientFlavor) destroyReplaced(ctx context.Context, c *oncrpc.Client, now time.Time) {
	f.mu.Lock()
	var over []*clientContext
	f.replaced = slices.DeleteFunc(f.replaced, func(cc *clientContext) bool {
		unused := cc.unanswered.First() == nil
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

// Close asks the server of c to destroy the context, if there is one (RFC 2203 section 5.4). This
// end forgets the context in any case. Pending calls that use it, and later calls, may create a new
// one. The error is an *OpError.
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
	f.mu.Lock()
	f.admit()
	f.mu.Unlock()
	if err := cc.destroy(ctx, c); err != nil {
		return f.opError(op, c, err)
	}
	return nil
}
