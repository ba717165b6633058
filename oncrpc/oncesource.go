package oncrpc

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// onceSource is the source of the bulk data of a call that must be executed once, and comes before
// that data. What a call is the copy of shows only when its data is here: before that a copy would
// wait for a connection that has been lost, maybe, and data that differs would pass for the same.
// So the handlers of all copies begin. When the first data has come, and before the handler gets
// it, onceSource asks the cache whether this call is the one to go on. So nothing of a copy comes
// to pass, however late its data is.
type onceSource struct {
	call    *Call
	from    xdr.BulkSource
	via     func(xdr.BulkSource) xdr.BulkSource
	args    xdr.Decoder // the arguments from their beginning, for a handler that begins again
	refused bool        // the handler is to end: the call is a copy
}

// errCopy ends the handler of a copy.
var errCopy = fmt.Errorf("copy of a call that is executed already: %w", ErrDrop)

func (o *onceSource) init(c *Call) {
	o.call = c
	o.via = func(from xdr.BulkSource) xdr.BulkSource {
		o.from = from // of one message there is one
		return o
	}
}

// Fetch is xdr.BulkSource.
func (o *onceSource) Fetch(ctx context.Context, id, n int, dst [][]byte) error {
	if err := o.from.Fetch(ctx, id, n, dst); err != nil {
		return err
	}
	return o.fetched(n, dst)
}

// Load is xdr.BulkSource.
func (o *onceSource) Load(ctx context.Context, id, n int, take bool) ([]byte, xdr.Releaser, error) {
	p, release, err := o.from.Load(ctx, id, n, take)
	if err != nil {
		return nil, nil, err
	}
	if err := o.fetched(n, [][]byte{p}); err != nil {
		if release != nil {
			release.Release()
		}
		return nil, nil, err
	}
	return p, release, nil
}

// fetched says whether the handler may have its data.
func (o *onceSource) fetched(n int, data [][]byte) error {
	c := o.call
	if !c.server.replies.fetched(&c.arrival, n, data) {
		o.refused = true
		return errCopy
	}
	return nil
}
