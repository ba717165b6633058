package goxdr

import (
	"context"
	"io"
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Args returns v, of a generated type, as arguments of a call. If v cannot be encoded, the call
// fails with the error of WriteTo, such as [ErrTooDeep], and is not sent.
func Args(v io.WriterTo) oncrpc.Marshaler { return marshaler(v.WriteTo) }

// ArgsFunc is Args for a type that has no method WriteTo: that of a typedef, which has a
// generated function.
func ArgsFunc[T any](write func(io.Writer, T) (int64, error), v T) oncrpc.Marshaler {
	return marshaler(func(w io.Writer) (int64, error) { return write(w, v) })
}

// Reply returns v, of a generated type, as what takes the results of a call: all of them, or
// the call fails with an error that wraps oncrpc.ErrMalformedReply, and [ErrTooDeep] if that is the
// reason. Results that are nested less deeply use 64 MiB of stack at most, if a level takes 128
// bytes of it as a linked list's does.
func Reply(v io.ReaderFrom) oncrpc.Unmarshaler { return unmarshaler(v.ReadFrom) }

// ReplyFunc is Reply for a type that has no method ReadFrom: that of a union or a typedef,
// which has a generated function.
func ReplyFunc[T any](read func(io.Reader) (T, int64, error), v *T) oncrpc.Unmarshaler {
	return unmarshaler(func(r io.Reader) (int64, error) {
		got, n, err := read(r)
		if err == nil {
			*v = got
		}
		return n, err
	})
}

type marshaler func(io.Writer) (int64, error)

func (m marshaler) MarshalXDR(e *xdr.Encoder) {
	if _, err := m(&writer{e: e}); err != nil {
		e.Fail(err)
	}
}

type unmarshaler func(io.Reader) (int64, error)

func (u unmarshaler) UnmarshalXDR(d *xdr.Decoder) {
	p, err := d.Rest(context.Background(), math.MaxInt) // as much as the transport takes
	r := &reader{left: p}
	if err == nil {
		_, err = u(r)
	}
	switch {
	case err != nil && r.short:
		d.Fail(xdr.ErrShort)
	case err != nil:
		d.Fail(err)
	case len(r.left) > 0:
		d.Fail(xdr.ErrTrailing)
	}
}
