package nfsserver

import (
	"context"
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// argsOf is a pointer to arguments, and resultsOf a pointer to results.
type argsOf[A any] interface {
	*A
	oncrpc.Unmarshaler
}

type resultsOf[R any] interface {
	*R
	oncrpc.Marshaler
	StatusPtr() *nfs3.Status
}

// call is the memory of one call.
type call[A, R any] struct {
	request
	args A
	res  R
}

// handler makes the handler of a procedure. proc gets the arguments, and results to fill in. An
// nfs3.Status that it returns becomes the status of the results. Other errors go to package oncrpc.
func handler[A, R any, PA argsOf[A], PR resultsOf[R]](
	s *Server, proc func(context.Context, *request, PA, PR) error,
) oncrpc.Handler {
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
			x.leave()
			x.reset()
			pool.Put(x)
		}()
		args, res := PA(&x.args), PR(&x.res)
		args.UnmarshalXDR(c.Args)
		if err := c.Args.Finish(); err != nil {
			return err
		}
		err := x.begin(ctx, s, c)
		if err == nil {
			err = proc(ctx, &x.request, args, res)
		}
		if err != nil {
			status, ok := statusOf(err)
			if !ok {
				return err
			}
			s.stats.count(status)
			if x.entered != nil {
				x.entered.counters.called(nfs3.Proc(c.Procedure), status)
				s.failed(ctx, x.entered, nfs3.Proc(c.Procedure), status, err)
			}
			*res.StatusPtr() = status
		} else if x.entered != nil {
			x.entered.counters.called(nfs3.Proc(c.Procedure), nfs3.OK)
			if x.entered.gone.Load() {
				_ = s.look(ctx, x.entered) // which logs it
			}
		}
		res.MarshalXDR(c.Results)
		return nil
	}
}

// statusOf returns the nfs3.Status in an error, if it has one.
func statusOf(err error) (nfs3.Status, bool) {
	if s, ok := err.(nfs3.Status); ok {
		return s, true
	}
	var s nfs3.Status
	ok := errors.As(err, &s)
	return s, ok
}
