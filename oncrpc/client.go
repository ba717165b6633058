package oncrpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Marshaler encodes itself, such as the arguments of a call.
type Marshaler interface{ MarshalXDR(e *xdr.Encoder) }

// Unmarshaler decodes itself, such as the results of a call. It reports errors through the decoder,
// and must not keep references to the decoder's data.
type Unmarshaler interface{ UnmarshalXDR(d *xdr.Decoder) }

// SizedReply is a Request.Reply that knows how much room its results need. Client.Do asks it only
// if the Request sets neither MaxReply nor Results.
type SizedReply interface {
	Unmarshaler
	// ReplyRoom returns the values for Request.MaxReply and Request.Results: the maximum length in
	// bytes of the encoded results without the data for the buffers, or 0 for DefaultMaxReply; and
	// results with the buffers appended. The buffers belong to the transport until Do returns.
	// ReplyRoom is called once for each Transport.RoundTrip, but not when package redial sends a
	// call again. It must not keep results.
	ReplyRoom(results [][]byte) (maxReply int, _ [][]byte)
}

// DefaultMaxReply is the room in bytes for results if neither Request.MaxReply nor a SizedReply
// says how much they need.
const DefaultMaxReply = 512

// Request is one call to make.
type Request struct {
	Procedure uint32
	Args      Marshaler   // nil for none
	Reply     Unmarshaler // nil if there must be no results
	// MaxReply is the maximum length in bytes of the encoded results, without the data that goes to
	// Results; 0 means DefaultMaxReply. Over RDMA, the client provides memory for a long reply with
	// the call. If the reply exceeds MaxReply, the call fails with a *ReplyTooLongError, unless
	// both ends use the dialect rpcrdma.Draft. A reply that fits inline always arrives. Over TCP,
	// longer replies fail only with recordmark.Config.EnforceMaxReply.
	MaxReply int
	// Results are buffers for the bulk data of the results, one for each item (Exchange.Results).
	// If Reply is a SizedReply, it can supply both Results and MaxReply.
	Results [][]byte
	// MayRepeat allows a transport that reconnects (package redial) to send the call again, with
	// the same transaction id, if the connection ended before the reply arrived. Set it if
	// executing the procedure twice does no harm, or if the server prevents that.
	MayRepeat bool
	// Once restricts MayRepeat: executing the procedure twice does harm, and the server prevents it
	// for calls that it can tell to be copies (Procedure.Once). Over TCP these come from the same
	// port, over RDMA over a newer connection. If the port could not be kept, the call fails and
	// is not repeated.
	Once bool

	// Repeated is set by Do if the call was sent more than once. The results may then come from a
	// later execution than the first.
	Repeated bool
}

// Client calls one version of one program over a transport. It is safe for concurrent use, and
// several clients may share a transport.
type Client struct {
	t             Transport
	header        []byte // call header with xid and procedure 0
	program, vers uint32
	fixed         bool // header includes credential and verifier; nothing is sealed
	flavor        ClientFlavor
	tracker       CallTracker // the flavour, if it is a CallTracker

	// chain is do with the interceptors around it, or nil if there are none
	chain func(context.Context, *ClientCall) error
}

// procedureOffset is where the procedure is in a call header: after xid, mtype, rpcvers, prog,
// vers.
const procedureOffset = 5 * 4

// NewClient returns a client of a program that authenticates with flavor; nil means AuthNone. The
// interceptors run around each call, the first outermost.
func NewClient(t Transport, program, version uint32, flavor ClientFlavor, interceptors ...ClientInterceptor) *Client {
	if flavor == nil {
		flavor = authNone
	}
	h := CallHeader{RPCVersion: Version, Program: program, Version: version}
	var e xdr.Encoder
	h.encodeToProcedure(&e)
	f, fixed := flavor.(*fixedCred)
	if fixed {
		e.Raw(f.sealed)
	}
	c := &Client{t: t, program: program, vers: version, flavor: flavor, fixed: fixed, header: e.Message().Inline}
	c.tracker, _ = flavor.(CallTracker)
	c.chain = c.intercepted(interceptors)
	return c
}

// Transport returns the transport that the client uses.
func (c *Client) Transport() Transport { return c.t }

// Program returns the number and version of the program that the client calls.
func (c *Client) Program() (number, version uint32) { return c.program, c.vers }

// calls holds the memory of calls for all Clients. One pool suits many Clients that each call
// rarely, and the memory given back last is in the processor's cache.
var calls = sync.Pool{New: func() any { return new(call) }}

// call is the memory of one call.
type call struct {
	Exchange
	enc     xdr.Encoder
	landing [][]byte // the buffers of a SizedReply

	// For flavours that seal enc for each transmission.
	client    *Client
	procedure uint32
	args      xdr.Encoder
	plain     xdr.Message // what is in args
	check     ReplyCheck  // of the last transmission
	verifier  Auth        // of the reply
}

// Call calls a procedure with the defaults of Request.
func (c *Client) Call(ctx context.Context, procedure uint32, args Marshaler, reply Unmarshaler) error {
	return c.Do(ctx, &Request{Procedure: procedure, Args: args, Reply: reply})
}

// Do makes a call and waits for its reply or for ctx. Its error is a *CallError that wraps the
// cause:
//
//   - the server's answer: an *AcceptError, *AuthError or *VersionError;
//   - the error of ctx;
//   - an error of the transport, such as a *CallTooLongError or a *ReplyTooLongError.
func (c *Client) Do(ctx context.Context, r *Request) error {
	if c.t == nil {
		panic("oncrpc: Client without a transport: NewClient makes one")
	}
	var err error
	if c.chain == nil {
		_, err = c.do(ctx, r)
	} else {
		err = c.doIntercepted(ctx, r)
	}
	if err != nil {
		return &CallError{c.program, c.vers, r.Procedure, c.t.RemoteAddr(), err}
	}
	return nil
}

// intercepted holds the memory of what interceptors see.
var intercepted = sync.Pool{New: func() any { return new(interceptedCall) }}

type interceptedCall struct {
	call    ClientCall
	request Request // a copy, so that the caller's stays off the heap if there are no interceptors
}

// doIntercepted is do with the interceptors around it.
func (c *Client) doIntercepted(ctx context.Context, r *Request) error {
	x := intercepted.Get().(*interceptedCall)
	x.request = *r
	x.call = ClientCall{
		Program: c.program, Version: c.vers, Request: &x.request,
		Flavor: c.flavor.Flavor(), Peer: c.t.RemoteAddr(),
	}
	err := c.chain(ctx, &x.call)
	r.Repeated = x.request.Repeated
	*x = interceptedCall{}
	intercepted.Put(x)
	return err
}

// do makes a call and returns the transaction id of its last transmission.
func (c *Client) do(ctx context.Context, r *Request) (xid uint32, err error) {
	x := calls.Get().(*call)
	defer c.put(x)
	if c.fixed {
		err = c.doFixed(ctx, x, r)
	} else {
		err = c.doSealed(ctx, x, r)
	}
	return x.xid(), err
}

// doFixed is do for flavours whose calls need no sealing.
func (c *Client) doFixed(ctx context.Context, x *call, r *Request) error {
	x.enc.Raw(c.header)
	if r.Args != nil {
		r.Args.MarshalXDR(&x.enc)
	}
	x.Call = x.enc.Message()
	if err := x.enc.Err(); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(x.Call.Inline[procedureOffset:], r.Procedure)
	return c.transmit(ctx, x, r)
}

// doSealed is do for all other flavours.
func (c *Client) doSealed(ctx context.Context, x *call, r *Request) error {
	x.client, x.procedure, x.sealer = c, r.Procedure, x
	if r.Args != nil {
		r.Args.MarshalXDR(&x.args)
	}
	args := x.args.Message()
	defer args.Release()
	if err := x.args.Err(); err != nil {
		return err
	}
	for denied := false; ; {
		if err := c.flavor.Ready(ctx, c); err != nil {
			return err
		}
		err := c.transmit(ctx, x, r)
		again := errors.Is(err, ErrNotReady)
		if denial, ok := err.(*AuthError); ok {
			again = !denied && x.check != nil && x.check.RetryDenied(denial)
			denied = true
		}
		if c.tracker != nil {
			x.over()
			c.tracker.Ended()
		}
		if !again {
			return err
		}
		if denied || x.Repeated {
			// the server may have executed a lost transmission, and recognizes it by its XID
			x.XID = x.xid()
		}
	}
}

// transmit sends a call, which the transport may repeat, and decodes its reply.
func (c *Client) transmit(ctx context.Context, x *call, r *Request) error {
	x.MaxReply, x.Results = r.MaxReply, r.Results
	x.MayRepeat, x.Once = r.MayRepeat, r.Once
	if s, ok := r.Reply.(SizedReply); ok && r.MaxReply == 0 && r.Results == nil {
		x.MaxReply, x.landing = s.ReplyRoom(x.landing[:0])
		x.Results = x.landing
	}
	x.MaxReply = cmp.Or(x.MaxReply, DefaultMaxReply) + replyHeaderMin
	if !c.fixed {
		x.MaxReply += c.flavor.Slack()
		if !c.flavor.AllowsPlacement() {
			for _, p := range x.Results {
				x.MaxReply += xdr.RoundUp(len(p))
			}
			x.Results = nil
		}
	}
	err := c.t.RoundTrip(ctx, &x.Exchange)
	r.Repeated = x.Repeated
	if err != nil {
		return err
	}
	defer x.Release()
	if err := decodeReply(&x.Reply, x.check, &x.verifier); err != nil {
		return err
	}
	if r.Reply != nil {
		r.Reply.UnmarshalXDR(&x.Reply)
	}
	if err = replyError(x.Reply.Finish()); err != nil && r.Reply == nil {
		err = fmt.Errorf("%w: there are results, and Request.Reply is nil", err)
	}
	return err
}

// over is called when a transmission has ended.
func (x *call) over() {
	if t := x.client.tracker; t != nil && x.check != nil {
		t.Over(x.check)
	}
	x.check = nil
}

// seal encodes the message of one transmission.
func (x *call) seal(xid uint32) error {
	x.over()
	x.enc.Reset()
	x.enc.Raw(x.client.header)
	x.patch(xid, x.procedure)
	x.plain = x.args.Message()
	var err error
	if x.check, err = x.client.flavor.Seal(&x.enc, &x.plain); err != nil {
		return err
	}
	x.Call = x.enc.Message()
	return x.enc.Err()
}

// patch writes transaction id and procedure into the header.
func (x *call) patch(xid, procedure uint32) {
	b := x.enc.Message().Inline
	binary.BigEndian.PutUint32(b, xid)
	binary.BigEndian.PutUint32(b[procedureOffset:], procedure)
}

// put releases the memory of a call and what its message refers to.
func (c *Client) put(x *call) {
	if c.fixed {
		x.Call.Release()
	}
	x.enc.Reset()
	x.Exchange = Exchange{}
	if !c.fixed {
		x.args.Reset()
		x.client, x.check, x.plain, x.verifier = nil, nil, xdr.Message{}, Auth{}
	}
	clear(x.landing)
	calls.Put(x)
}
