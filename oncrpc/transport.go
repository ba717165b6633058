package oncrpc

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Transport is a connection that carries RPC messages. Both ends may call and serve. Its methods
// must be safe for concurrent use.
type Transport interface {
	// RoundTrip sends the call in x, waits for the reply, and leaves it in x.Reply. It chooses the
	// transaction id unless x.XID is set, and calls x.Seal to make the message. When RoundTrip
	// returns, with or without an error, the transport no longer touches anything that x refers to.
	// A call whose context ends is abandoned, without harm to other calls. An error that wraps
	// net.ErrClosed says that the connection has ended or can take no more calls. One that wraps
	// ErrNotSent says that nothing of the call has left.
	RoundTrip(ctx context.Context, x *Exchange) error
	// Serve answers the calls that arrive on this connection with s. It returns at once.
	Serve(s *Server)

	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// Close ends the connection. Pending calls fail with an error that wraps net.ErrClosed.
	Close() error
	// Done returns a channel that is closed when the connection has ended. By then pending calls
	// have failed, and nothing touches their memory any more.
	Done() <-chan struct{}
	// Err returns why the connection ended, or nil if it has not.
	Err() error
}

// CreditReporter is an optional interface of a Transport that limits its pending calls. With it, a
// caller can find out which of several transports has room.
type CreditReporter interface {
	// Credits returns the number of calls that may be pending now, how many of these credits are in
	// use, and how many calls wait for one. A call whose context has ended keeps its credit as the
	// transport requires: over RPC-over-RDMA until the server answers (RFC 8166 section 3.3.1),
	// over TCP not at all. More credits may be in use than granted if the peer lowered its grant.
	// Credits takes no lock and does not allocate.
	Credits() (grant, inUse, waiting int)
}

// PortCaller is an optional interface of a Transport whose peer tells callers apart by their ports,
// as over TCP. Elsewhere it knows them by their hosts alone.
type PortCaller interface {
	// CallsFrom returns the address of this end, or the zero AddrPort if it is not of that kind.
	CallsFrom() netip.AddrPort
}

// WithDialFrom returns a context for dialling a connection from an address, so that the peer knows
// its caller (PortCaller). The address is zero for a first connection, whose own will be needed
// later. What dials over TCP should ask DialFrom, and fall back to another port if this one is not
// free.
func WithDialFrom(ctx context.Context, from netip.AddrPort) context.Context {
	return context.WithValue(ctx, dialFrom{}, from)
}

// DialFrom returns the address of WithDialFrom, and whether there is one, zero or not.
func DialFrom(ctx context.Context) (from netip.AddrPort, ok bool) {
	from, ok = ctx.Value(dialFrom{}).(netip.AddrPort)
	return from, ok
}

type dialFrom struct{}

// Exchange is one call and its reply, shared by a Client and a Transport.
type Exchange struct {
	// Call is the encoded call. It is complete after Seal; before that it may be empty.
	Call xdr.Message
	// MaxReply is the maximum length in bytes of the reply without the data that goes to Results. A
	// transport that must provide memory for the reply in advance provides this much.
	MaxReply int
	// Results are buffers for the bulk data of the reply, one for each item, in order. The
	// transport may ignore them: xdr.Decoder.BulkInto then copies the data when it decodes the
	// reply.
	Results [][]byte
	// XID is the transaction id to use; 0 lets the transport choose. If a pending call on the
	// connection has the same one, the call fails with ErrXIDInUse.
	XID uint32
	// MayRepeat, Once and Repeated are the fields of the Request. A connection that cannot
	// reconnect ignores the first two and does not set Repeated.
	MayRepeat, Once, Repeated bool
	// LeftOver is over which of its connections a call with Once has left, for the use of a
	// connection that can reconnect.
	LeftOver any
	// Reply decodes the reply, beginning with its transaction id.
	Reply xdr.Decoder

	sealer *call // makes Call; nil if Call is complete
	owner  xdr.Releaser
}

// Seal is for transports. It makes x.Call with transaction id xid. Call it once for each
// transmission, shortly before sending, without holding a lock. What a flavour adds may differ each
// time, even in length. If Seal fails, the call fails with its error.
//
// In an Exchange that no Client made, Call already contains a whole message, and Seal sets its
// first word to xid. If Call is empty, the error is xdr.ErrShort.
func (x *Exchange) Seal(xid uint32) error {
	if x.sealer != nil {
		return x.sealer.seal(xid)
	}
	if len(x.Call.Inline) < 4 {
		return xdr.ErrShort
	}
	binary.BigEndian.PutUint32(x.Call.Inline, xid)
	return nil
}

// ReplyLimit is for transports. It returns the maximum length in bytes of the reply with all its
// data: MaxReply and the buffers in Results, each rounded up to an XDR unit.
func (x *Exchange) ReplyLimit() int {
	n := xdr.RoundUp(x.MaxReply)
	for _, p := range x.Results {
		n += xdr.RoundUp(len(p))
	}
	return n
}

// SetReply is for transports. It sets the reply's inline bytes and chunks. Release of owner is
// called when both have been decoded.
func (x *Exchange) SetReply(inline []byte, chunks []xdr.Chunk, owner xdr.Releaser) {
	x.Reply.Reset(inline, chunks)
	x.owner = owner
}

// Release returns the reply's memory to the transport.
func (x *Exchange) Release() {
	if o := x.owner; o != nil {
		x.owner = nil
		x.Reply.Reset(nil, nil)
		o.Release()
	}
}

// IncomingCall is a call that a transport received for a Server to answer. Either Reply or Drop
// ends it, on any goroutine, before or after Dispatcher.Dispatch returns. Then its arguments are
// invalid, except that those to which the reply refers stay valid until the reply is released.
type IncomingCall interface {
	// Message decodes the call, beginning with its transaction id.
	Message() *xdr.Decoder
	// Ready reports whether all of the call has arrived, so that decoding does not block.
	Ready() bool
	// Context ends with the connection.
	Context() context.Context
	// Conn returns the connection that the call came on.
	Conn() Transport
	// Reply sends a reply without blocking. The message belongs to the transport, which calls its
	// Release when it is sent or cannot be sent any more.
	Reply(m xdr.Message)
	// Drop ends the call without an answer.
	Drop()
}

// WaitingCall is an IncomingCall that waits for its peer while its handler runs (Call.BeginWait).
type WaitingCall interface {
	IncomingCall
	// Becomes passes the Call that the handler will get, before the handler runs.
	Becomes(c *Call)
}
