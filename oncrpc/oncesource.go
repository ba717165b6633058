package oncrpc

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// onceSource fetches the bulk data of a Once call whose data arrives after the call. Until the data
// is here, the server cannot tell whether the call is a copy of another: the copies may differ in
// their data, and making one wait for the other could mean waiting for a lost connection. So the
// handlers of all copies start. When the first data has arrived, and before the handler gets it,
// onceSource asks the cache whether this call may go on. All other copies are stopped there, so
// they change nothing, however late their data arrives.
type onceSource struct {
	call    *Call
	from    xdr.BulkSource
	via     func(xdr.BulkSource) xdr.BulkSource
	args    xdr.Decoder // all arguments, for running the handler again
	refused bool        // the call is a copy, and its handler must end
}

// errCopy stops the handler of a copy.
var errCopy = fmt.Errorf("copy of a call that is executed already: %w", ErrDrop)

func (o *onceSource) init(c *Call) {
	o.call = c
	o.via = func(from xdr.BulkSource) xdr.BulkSource {
		o.from = from // a message has only one source
		return o
	}
}

// Fetch implements xdr.BulkSource.
func (o *onceSource) Fetch(ctx context.Context, id, n int, dst [][]byte) error {
	if err := o.from.Fetch(ctx, id, n, dst); err != nil {
		return err
	}
	return o.fetched(n, dst)
}

// Load implements xdr.BulkSource.
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

// fetched returns errCopy if the handler may not have its data.
func (o *onceSource) fetched(n int, data [][]byte) error {
	c := o.call
	if !c.server.replies.fetched(&c.arrival, n, data) {
		o.refused = true
		return errCopy
	}
	return nil
}
