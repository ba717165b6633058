package goxdr

import (
	"context"
	"fmt"
	"io"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Service is what the constructors return that the compiler makes of programs. It decodes the
// arguments of a procedure, closes the reader, executes the procedure and encodes the results.
type Service func(ctx context.Context, version, procedure uint32, args io.ReadCloser,
	newResults func(size int) io.Writer) (rpcv2.AcceptedReplyData, error)

// Procedures returns the procedures of s that have a name, by number; the names are for logs. Each
// version of a program is an oncrpc.Program of its own, all with the same s. Properties such as
// Procedure.Once can be set afterwards.
//
// Arguments of more than maxArgs bytes, encoded, are answered with GARBAGE_ARGS. Generated code
// decodes a linked list by recursion, as deep as the list is long, and an element may have no more
// than 4 bytes: with 1 MiB of arguments a peer can make it use 32 MiB of stack. With more than
// 16 MiB it could exceed the largest stack that Go allows, which ends the process.
//
// The context of an implementation's method has the call: CallFromContext.
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

// CallFromContext returns the call that a method of an implementation executes: its credential,
// its connection. The arguments and the results in it are the generated code's. It is valid until
// the method returns.
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
		args, encoding := &arguments{left: p}, false
		newResults := func(int) io.Writer {
			encoding = true
			return writer{c.Results}
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

// outcome returns the error that answers a call with reply.
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

// arguments are those of one call.
type arguments struct {
	left  []byte
	short bool // more was to be read than there is
}

func (a *arguments) Read(p []byte) (int, error) {
	if len(a.left) == 0 && len(p) > 0 {
		a.short = true
		return 0, io.EOF
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

func (*arguments) Close() error { return nil }

// writer appends to a stream what is XDR already.
type writer struct{ e *xdr.Encoder }

func (w writer) Write(p []byte) (int, error) {
	w.e.Raw(p)
	return len(p), nil
}
