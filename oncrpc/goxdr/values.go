package goxdr

import (
	"context"
	"io"
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Args makes arguments of a call from v, a value of a generated type. If v cannot be encoded, the
// call fails with the error of WriteTo, such as [ErrTooDeep], and is not sent.
func Args(v io.WriterTo) oncrpc.Marshaler { return marshaler(v.WriteTo) }

// ArgsFunc is Args for a type with a generated function in place of the method WriteTo, such as a
// typedef.
func ArgsFunc[T any](write func(io.Writer, T) (int64, error), v T) oncrpc.Marshaler {
	return marshaler(func(w io.Writer) (int64, error) { return write(w, v) })
}

// Reply makes v, a pointer to a generated type, receive the results of a call. If the results
// cannot be decoded, or bytes are left over, the call fails with an error that wraps
// oncrpc.ErrMalformedReply, and [ErrTooDeep] if that is the reason. Decoding uses at most 64 MiB of
// stack if a level takes 128 bytes, as for a linked list.
func Reply(v io.ReaderFrom) oncrpc.Unmarshaler { return unmarshaler(v.ReadFrom) }

// ReplyFunc is Reply for a type with a generated function in place of the method ReadFrom, such as
// a union or a typedef.
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
