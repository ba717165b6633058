package nfsserver

import (
	"context"
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// request is what a procedure knows of its call besides the arguments, and memory that is
// used again.
type request struct {
	cred    vfs.Cred
	read    vfs.ReadResult
	entries []nfs3.Entry
}

// Nobody is the user and the group of calls that say nothing of theirs.
const Nobody = 65534

// identify takes the credentials of a call.
func (q *request) identify(c *oncrpc.Call) {
	if sys, ok := c.Sys(); ok {
		q.cred = vfs.Cred{UID: sys.UID, GID: sys.GID, GIDs: append(q.cred.GIDs[:0], sys.GIDs...)}
		return
	}
	q.cred = vfs.Cred{UID: Nobody, GID: Nobody, GIDs: q.cred.GIDs[:0]}
}

// reset forgets all but the memory.
func (q *request) reset() {
	clear(q.read.Data)
	clear(q.entries)
	q.read = vfs.ReadResult{Data: q.read.Data[:0]}
	q.entries = q.entries[:0]
}

// argsOf is a pointer to arguments, resultsOf one to results.
type argsOf[A any] interface {
	*A
	oncrpc.Unmarshaler
}

type resultsOf[R any] interface {
	*R
	oncrpc.Marshaler
	Outcome() *nfs3.Status
}

// call is the memory of one call.
type call[A, R any] struct {
	request
	args A
	res  R
}

// handler makes a handler of a procedure, which takes arguments and fills results
// that are zero. An nfs3.Status that it returns becomes the status of the results,
// and other errors are for package oncrpc.
func handler[A, R any, PA argsOf[A], PR resultsOf[R]](proc func(context.Context, *request, PA, PR) error) oncrpc.Handler {
	var pool sync.Pool
	return func(ctx context.Context, c *oncrpc.Call) error {
		x, _ := pool.Get().(*call[A, R])
		if x == nil {
			x = new(call[A, R])
		}
		defer func() {
			var (
				noArgs A
				noRes  R
			)
			x.args, x.res = noArgs, noRes
			x.reset()
			pool.Put(x)
		}()
		args, res := PA(&x.args), PR(&x.res)
		args.UnmarshalXDR(c.Args)
		if err := c.Args.Finish(); err != nil {
			return err
		}
		x.identify(c)
		if err := proc(ctx, &x.request, args, res); err != nil {
			status, ok := statusOf(err)
			if !ok {
				return err
			}
			*res.Outcome() = status
		}
		res.MarshalXDR(c.Results)
		return nil
	}
}

// statusOf returns the status in an error, if there is one.
func statusOf(err error) (nfs3.Status, bool) {
	if s, ok := err.(nfs3.Status); ok {
		return s, true
	}
	var s nfs3.Status
	ok := errors.As(err, &s)
	return s, ok
}
