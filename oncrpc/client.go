package oncrpc

import (
	"cmp"
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

// SizedReply is a Request.Reply that says itself how much room its results need. Client.Do asks it
// where the Request sets neither MaxReply nor Results; a Request that sets one of them overrides
// both.
type SizedReply interface {
	Unmarshaler
	// ReplyRoom returns what Request.MaxReply and Request.Results would be: the largest length in
	// bytes of the encoded results, without the data that goes to the buffers, or 0 for
	// DefaultMaxReply; and results with those buffers appended. Until Do returns, the buffers
	// belong to the transport. ReplyRoom is called once for each Transport.RoundTrip: not
	// for what package redial sends again. It must not keep
	// results.
	ReplyRoom(results [][]byte) (maxReply int, _ [][]byte)
}

// DefaultMaxReply is the room in bytes for results where neither Request.MaxReply nor a SizedReply
// says how much they need.
const DefaultMaxReply = 512

// Request is one call to make.
type Request struct {
	Procedure uint32
	Args      Marshaler   // nil for none
	Reply     Unmarshaler // nil for none: there must be no results then
	// MaxReply is the largest length in bytes of the encoded results, without the data that goes to
	// Results; 0 means DefaultMaxReply. Over RDMA, the memory for a long reply is provided with the
	// call. The call whose reply exceeds it fails with a *ReplyTooLongError, unless both ends speak
	// the dialect rpcrdma.Draft. A reply that fits inline arrives whatever MaxReply says. Over TCP,
	// recordmark.Config.EnforceMaxReply has longer replies fail the same.
	MaxReply int
	// Results is where bulk data of the results shall land, one buffer for each item:
	// Exchange.Results. A Reply that is a SizedReply can name them in its place, and MaxReply, too.
	Results [][]byte
	// MayRepeat allows a transport that connects anew (package redial) to send the call again, with
	// the same transaction id, when its connection ended before the reply came: that the
	// procedure is executed twice does no harm, or the server sees to it that it is not.
	MayRepeat bool

	// Repeated is set by Do: the call was sent more than once, so that the results may
	// be those of an execution after the first.
	Repeated bool
}

// Client calls one version of one program over a transport. Its methods may be
// called concurrently, and several clients may share a transport.
type Client struct {
	t             Transport
	header        []byte // of a call, with xid and procedure left 0
	program, vers uint32
	fixed         bool // header has credential and verifier, too, and nothing is made anew
	flavor        ClientFlavor
	tracker       CallTracker // that flavour, if it is one

	// the interceptors around do; nil: there are none
	chain func(context.Context, *ClientCall) error
}

// The procedure word in a call header: behind xid, mtype, rpcvers, prog, vers.
const procedureOffset = 5 * 4

// NewClient returns a client of a program whose calls are of that flavour; nil is AuthNone. The
// interceptors are around each call, the first outermost.
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

// Transport returns the connection that the client uses.
func (c *Client) Transport() Transport { return c.t }

// Program returns number and version of the program that the client calls.
func (c *Client) Program() (number, version uint32) { return c.program, c.vers }

// calls has the memory of calls. It is one pool for all Clients: there may be many, each of which
// calls now and then, and what was given back last is in the cache.
var calls = sync.Pool{New: func() any { return new(call) }}

// call is the memory of one call.
type call struct {
	Exchange
	enc     xdr.Encoder
	landing [][]byte // the buffers of a SizedReply

	// With a flavour that makes enc anew for each transmission.
	client    *Client
	procedure uint32
	args      xdr.Encoder
	plain     xdr.Message // what is in args
	check     ReplyCheck  // of the last transmission
	verifier  Auth        // of the reply
}

// Call calls a procedure: Do with the defaults.
func (c *Client) Call(ctx context.Context, procedure uint32, args Marshaler, reply Unmarshaler) error {
	return c.Do(ctx, &Request{Procedure: procedure, Args: args, Reply: reply})
}

// Do makes a call and waits for its reply, or for ctx. The error is a *CallError; what it
// wraps tells an answer of the server (*AcceptError, *AuthError, *VersionError) from
// an end of the context and from an error of the transport, such as a *CallTooLongError or a
// *ReplyTooLongError.
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

// intercepted has the memory of what interceptors see.
var intercepted = sync.Pool{New: func() any { return new(interceptedCall) }}

type interceptedCall struct {
	call    ClientCall
	request Request // a copy, so that the caller's need not be on the heap where nobody intercepts
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

// do makes a call, and returns the transaction id of its last transmission.
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

// doFixed is do for a flavour whose calls are made once.
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

// doSealed is do for other flavours.
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
	for last := false; ; last = true {
		if err := c.flavor.Ready(ctx, c); err != nil {
			return err
		}
		err := c.transmit(ctx, x, r)
		denial, denied := err.(*AuthError)
		again := denied && !last && x.check != nil && x.check.RetryDenied(denial)
		if c.tracker != nil {
			x.over()
			c.tracker.Ended()
		}
		if !again {
			return err
		}
		// the server may have executed a transmission that was lost, and knows it by that
		x.XID = x.xid()
	}
}

// transmit sends a call, as often as the transport must, and takes its reply apart.
func (c *Client) transmit(ctx context.Context, x *call, r *Request) error {
	x.MaxReply, x.Results, x.MayRepeat = r.MaxReply, r.Results, r.MayRepeat
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
	return replyError(x.Reply.Finish())
}

// over is called when a transmission has come to its end.
func (x *call) over() {
	if t := x.client.tracker; t != nil && x.check != nil {
		t.Over(x.check)
	}
	x.check = nil
}

// seal makes the message of a transmission.
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

// put gives back the memory of a call, and what its message refers to.
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
