package oncrpc

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Marshaler is something that encodes itself, such as the arguments of a call.
type Marshaler interface{ MarshalXDR(e *xdr.Encoder) }

// Unmarshaler is something that decodes itself, such as the results of a call. Errors
// stick to the decoder. It must not keep references into the decoder's data.
type Unmarshaler interface{ UnmarshalXDR(d *xdr.Decoder) }

// DefaultMaxReply is the room in bytes for results when a Request names none.
const DefaultMaxReply = 512

// Request is one call to make.
type Request struct {
	Procedure uint32
	Args      Marshaler   // nil for none
	Reply     Unmarshaler // nil for none: there must be no results then
	// MaxReply is the largest length in bytes of the encoded results, without the
	// data that goes to Results; 0 means DefaultMaxReply. Over RDMA, the memory for a
	// long reply must be provided with the call, so a result that exceeds it is lost, and the call fails, unless both ends
	// speak the dialect rpcrdma.Draft; a short one fits inline whatever is said here.
	MaxReply int
	// Results is where bulk data of the results shall land, one buffer for each item:
	// Exchange.Results.
	Results [][]byte
	// Repeat allows a transport that connects anew (package redial) to send the call again, with
	// the same transaction id, when its connection ended before the reply came: that the
	// procedure is executed twice does no harm, or the server sees to it that it is not.
	Repeat bool

	// Repeated is set by Do: the call was sent more than once, so that the results may
	// be those of an execution after the first.
	Repeated bool
}

// Client calls one version of one program over a transport. Its methods may be
// called concurrently, and several clients may share a transport.
type Client struct {
	t             Transport
	program, vers uint32
	header        []byte // of a call, with xid and procedure left 0
	err           error  // why there is none
	calls         sync.Pool
}

// The procedure word in a call header: behind xid, mtype, rpcvers, prog, vers.
const procedureOffset = 5 * 4

// NewClient returns a client of a program that presents cred with each call. With a
// credential that is too long, every call fails with an error that wraps xdr.ErrLimit.
func NewClient(t Transport, program, version uint32, cred Auth) *Client {
	h := CallHeader{RPCVersion: Version, Program: program, Version: version, Cred: cred}
	var e xdr.Encoder
	h.Encode(&e)
	return &Client{t: t, program: program, vers: version, header: e.Message().Inline, err: e.Err()}
}

// Transport returns the connection that the client uses.
func (c *Client) Transport() Transport { return c.t }

// call is the memory of one call.
type call struct {
	Exchange
	enc xdr.Encoder
}

// Call calls a procedure: Do with the defaults.
func (c *Client) Call(ctx context.Context, procedure uint32, args Marshaler, reply Unmarshaler) error {
	return c.Do(ctx, &Request{Procedure: procedure, Args: args, Reply: reply})
}

// Do makes a call and waits for its reply, or for ctx. The error is a *CallError; what it
// wraps tells an answer of the server (*AcceptError, *AuthError, *VersionError) from
// an end of the context and from an error of the transport.
func (c *Client) Do(ctx context.Context, r *Request) error {
	if err := c.do(ctx, r); err != nil {
		return &CallError{c.program, c.vers, r.Procedure, c.t.RemoteAddr(), err}
	}
	return nil
}

func (c *Client) do(ctx context.Context, r *Request) error {
	if c.err != nil {
		return c.err
	}
	x, _ := c.calls.Get().(*call)
	if x == nil {
		x = new(call)
	}
	defer c.put(x)
	x.enc.Raw(c.header)
	binary.BigEndian.PutUint32(x.enc.Message().Inline[procedureOffset:], r.Procedure)
	if r.Args != nil {
		r.Args.MarshalXDR(&x.enc)
	}
	x.Call = x.enc.Message()
	defer x.Call.Release()
	if err := x.enc.Err(); err != nil {
		return err
	}
	x.MaxReply = r.MaxReply
	if x.MaxReply == 0 {
		x.MaxReply = DefaultMaxReply
	}
	x.MaxReply += replyHeaderMin
	x.Results, x.Repeat = r.Results, r.Repeat
	err := c.t.RoundTrip(ctx, &x.Exchange)
	r.Repeated = x.Repeated
	if err != nil {
		return err
	}
	defer x.Release()
	if err := decodeReply(&x.Reply); err != nil {
		return err
	}
	if r.Reply != nil {
		r.Reply.UnmarshalXDR(&x.Reply)
	}
	return replyError(x.Reply.Finish())
}

func (c *Client) put(x *call) {
	x.enc.Reset()
	x.Exchange = Exchange{}
	c.calls.Put(x)
}
