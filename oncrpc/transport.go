package oncrpc

import (
	"context"
	"encoding/binary"
	"net"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Transport is one connection that carries RPC messages. Its methods may be called
// concurrently. Either end may call, and either end may serve.
type Transport interface {
	// RoundTrip sends the call in x and waits for its reply, which it leaves in
	// x.Reply. It chooses the call's transaction id, if x.XID does not, and has x.Seal make the
	// message. When it returns, with or without an error, it touches nothing that x
	// names any more: a call whose context ends is abandoned, its neighbours are not. An error
	// that wraps net.ErrClosed says that the connection has ended, or can take no more calls.
	RoundTrip(ctx context.Context, x *Exchange) error
	// Serve answers the calls that arrive on this connection with s.
	Serve(s *Server)

	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// Close ends the connection; calls under way fail with an error that wraps
	// net.ErrClosed.
	Close() error
	// Done is closed when the connection has ended: calls under way have failed, and nothing of
	// theirs is touched any more.
	Done() <-chan struct{}
	// Err says why it ended.
	Err() error
}

// CreditReporter is an optional ability of a Transport that bounds the calls that it has under way.
// Who spreads calls over several transports can tell by it which of them has room.
type CreditReporter interface {
	// Credits returns the number of calls that may be under way now, how many of these credits
	// are in use, and how many calls wait for one. A call that was given up uses its credit for
	// as long as the transport says: over RPC-over-RDMA until the server has answered (RFC 8166
	// section 3.3.1), over TCP no longer. More may be in use than there are, where the peer has
	// lowered its grant. It takes no lock and does not allocate.
	Credits() (grant, inUse, waiting int)
}

// Exchange is one call and its reply, as a Client and a Transport share them.
type Exchange struct {
	// Call is the encoded call. It is whole when Seal has made it; before that it may be empty.
	Call xdr.Message
	// MaxReply is the largest length in bytes that the reply may have without the
	// data that goes to Results. A transport that must provide memory for a reply
	// beforehand provides that much.
	MaxReply int
	// Results is where bulk data of the reply shall land, one buffer for each item,
	// in order. Whether it did is seen when the reply is decoded:
	// xdr.Decoder.BulkInto moves what arrived elsewhere.
	Results [][]byte
	// XID is the transaction id to use; 0 leaves the choice to the transport. One that a call under
	// way on the connection has already fails with ErrXIDInUse.
	XID uint32
	// MayRepeat and Repeated are those of the Request. A connection that cannot connect anew
	// ignores the one and leaves the other alone.
	MayRepeat, Repeated bool
	// Reply decodes the reply, from its transaction id.
	Reply xdr.Decoder

	sealer *call // makes Call; nil: it is made
	owner  xdr.Releaser
}

// Seal is for transports, which call it once for each transmission, when its turn has come and
// holding no lock: it makes x.Call, with transaction id xid. What a flavour adds may
// differ each time, in length, too. The error is that of the call.
//
// Of an Exchange that no Client has made, Call is a whole message already, of which the first word
// becomes xid; one without is xdr.ErrShort.
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

// ReplyLimit is for transports: the largest length in bytes of the reply with all its data,
// MaxReply and the buffers in Results, each rounded up to an XDR unit.
func (x *Exchange) ReplyLimit() int {
	n := xdr.RoundUp(x.MaxReply)
	for _, p := range x.Results {
		n += xdr.RoundUp(len(p))
	}
	return n
}

// SetReply is for transports: the reply's inline bytes, its chunks, and who is
// told when both have been decoded.
func (x *Exchange) SetReply(inline []byte, chunks []xdr.Chunk, owner xdr.Releaser) {
	x.Reply.Reset(inline, chunks)
	x.owner = owner
}

// Release gives the reply's memory back to the transport.
func (x *Exchange) Release() {
	if o := x.owner; o != nil {
		x.owner = nil
		x.Reply.Reset(nil, nil)
		o.Release()
	}
}

// IncomingCall is a call that a transport has received and a Server shall answer. One of Reply and
// Drop ends it, on any goroutine, before Dispatcher.Dispatch returns or later. The arguments are
// gone then; but after Reply those that the reply may refer to stay until it is released.
type IncomingCall interface {
	// Message decodes the call, from its transaction id.
	Message() *xdr.Decoder
	// Ready reports whether all of the call is here, so that decoding it does not
	// block.
	Ready() bool
	// Context ends with the connection.
	Context() context.Context
	// Conn is the connection the call came on.
	Conn() Transport
	// Reply sends a reply. The message belongs to the transport, which calls its
	// Release when it is sent or cannot be sent any more. It does not block.
	Reply(m xdr.Message)
	// Drop gives the call up without an answer.
	Drop()
}

// WaitingCall is an IncomingCall that waits for its peer while its handler runs (Call.BeginWait).
type WaitingCall interface {
	IncomingCall
	// Becomes tells it of the call that it is to the handler, before that runs.
	Becomes(c *Call)
}
