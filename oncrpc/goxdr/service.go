package goxdr

import (
	"context"
	"fmt"
	"io"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Service is the type that generated constructors of programs return. It decodes the arguments of a
// procedure, closes the reader, executes the procedure and encodes the results.
type Service func(ctx context.Context, version, procedure uint32, args io.ReadCloser,
	newResults func(size int) io.Writer) (rpcv2.AcceptedReplyData, error)

// Procedures returns the procedures of s by number. Those with an empty name are left out; names
// are for logs. Use the same s for each version of a program, in an oncrpc.Program of its own.
// Properties such as Procedure.Once can be set afterwards.
//
// Arguments longer than maxArgs bytes, encoded, are answered with GARBAGE_ARGS, and so are
// arguments nested too deeply ([ErrTooDeep]). A linked list takes about 128 bytes of stack for each
// element, which may have only 4 bytes. So with 1 MiB of arguments, a peer can make a call use 32
// MiB of stack; with larger arguments, at most 64 MiB.
//
// A method of the implementation gets its call from the context, with CallFromContext.
func Procedures(s Service, maxArgs int, names ...string) []oncrpc.Procedure {
	procs := make([]oncrpc.Procedure, len(names))
	for i, name := range names {
		if name != "" {
			procs[i] = oncrpc.Procedure{Name: name, Handler: s.handler(maxArgs)}
		}
	}
	return procs
}

type callKey struct{}

// CallFromContext returns the call that a method of an implementation executes, for its credential
// or connection. Leave its arguments and results to the generated code. The call is valid until the
// method returns.
func CallFromContext(ctx context.Context) (*oncrpc.Call, bool) {
	c, ok := ctx.Value(callKey{}).(*oncrpc.Call)
	return c, ok
}

func (s Service) handler(maxArgs int) oncrpc.Handler {
	return func(ctx context.Context, c *oncrpc.Call) error {
		p, err := c.Args.Rest(ctx, maxArgs)
		if err != nil {
			return err
		}
		args, encoding := &reader{left: p}, false
		newResults := func(int) io.Writer {
			encoding = true
			return &writer{e: c.Results}
		}
		ctx = context.WithValue(ctx, callKey{}, c)
		reply, err := s(ctx, c.Version, c.Procedure, args, newResults)
		switch {
		case err == nil:
			return outcome(reply)
		case encoding:
			return fmt.Errorf("results cannot be encoded: %w", err)
		case args.short || len(args.left) > 0:
			return fmt.Errorf("%w: %w", oncrpc.ErrGarbageArgs, err)
		}
		return err
	}
}

// outcome returns the error that makes the server answer with reply.
func outcome(reply rpcv2.AcceptedReplyData) error {
	switch r := reply.(type) {
	case *rpcv2.AcceptedReplyData_SUCCESS:
		return nil
	case *rpcv2.AcceptedReplyData_PROG_MISMATCH:
		v := &r.MismatchInfo
		return &oncrpc.AcceptError{Stat: oncrpc.ProgMismatch, Low: v.Low, High: v.High}
	}
	return &oncrpc.AcceptError{Stat: oncrpc.AcceptStat(reply.GetStat())}
}
