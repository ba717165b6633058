package oncrpc

import (
	"errors"
	"fmt"
	"net"
)

var (
	// ErrGarbageArgs is what a handler returns for arguments that it cannot decode:
	// the caller gets GARBAGE_ARGS. Errors of the xdr decoder mean the same.
	ErrGarbageArgs = errors.New("arguments cannot be decoded")
	// ErrProcUnavail is what a handler returns for a procedure that is not there:
	// the caller gets PROC_UNAVAIL.
	ErrProcUnavail = errors.New("procedure unavailable")
	// ErrDrop is what a ServerFlavor or a handler returns for a call that is to have no answer. On
	// a connection that loses nothing, its caller waits until he gives up, and over RPC-over-RDMA
	// his credit is in use for as long as the connection lasts (RFC 8166 section 3.3.1).
	ErrDrop = errors.New("call dropped")
	// ErrAlreadyServed: a server has that version of the program already.
	ErrAlreadyServed = errors.New("program is served already")
	// ErrServerClosed is returned by the Serve functions of the transports after
	// Shutdown or Close. It wraps net.ErrClosed.
	ErrServerClosed error = serverClosed{}
	// ErrTooManyConns: ServerConfig.MaxConns leaves no place for a connection of this peer's.
	ErrTooManyConns = errors.New("too many connections")
	// ErrXIDInUse: a call under way on the connection has the transaction id that was asked for.
	ErrXIDInUse = errors.New("transaction id in use")
	// ErrMalformedReply: a reply that is no RPC reply, or whose results cannot be decoded.
	ErrMalformedReply = errors.New("malformed reply")
	// ErrAnswered is what errors of Transport.RoundTrip are, by errors.Is, that come of an answer
	// of the peer's: an error of the transport's protocol, or one that makes no sense. The peer
	// lives.
	ErrAnswered = errors.New("the peer has answered")
)

// serverClosed wraps net.ErrClosed and does not print it: its text is that of a fault.
type serverClosed struct{}

func (serverClosed) Error() string { return "oncrpc: server closed" }
func (serverClosed) Unwrap() error { return net.ErrClosed }

// AcceptError is a call that the server accepted and did not execute.
type AcceptError struct {
	Stat      AcceptStat
	Low, High uint32 // versions the server has, with ProgMismatch
}

func (e *AcceptError) Error() string {
	if e.Stat == ProgMismatch {
		return fmt.Sprintf("%v: the server has versions %d to %d", e.Stat, e.Low, e.High)
	}
	return e.Stat.String()
}

// AuthError is a call that the server denied because of its credential or verifier.
// A handler or Program.Authorize returns it to deny a call.
type AuthError struct{ Stat AuthStat }

func (e *AuthError) Error() string { return "denied: " + e.Stat.String() }

// VersionError is a call denied with RPC_MISMATCH: the server speaks other versions
// of the RPC protocol.
type VersionError struct{ Low, High uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("RPC_MISMATCH: the server speaks RPC versions %d to %d", e.Low, e.High)
}

// CallTooLongError is a call that is longer than its transport carries: rpcrdma.Config.MaxMessage
// or recordmark.Config.MaxRecord. It was not sent, and the connection stays usable.
//
// What the peer takes, this end does not know. A longer call than that is a *rpcrdma.PeerError with
// ERR_CHUNK over RDMA, and the end of the connection over TCP.
type CallTooLongError struct {
	Len int // of the call in bytes, RPC header included; 0 if unknown
	Max int // the longest call in bytes
}

func (e *CallTooLongError) Error() string {
	if e.Len == 0 {
		return fmt.Sprintf("call of more than the %d bytes allowed", e.Max)
	}
	return fmt.Sprintf("call of %d bytes, %d allowed", e.Len, e.Max)
}

// ReplyTooLongError is a call whose reply is longer than the room for it. The connection stays
// usable. Unless NotSent is set, the server has executed the call.
//
// It has one of these causes:
//
//   - The reply does not fit in Exchange.MaxReply and Exchange.Results, which come of
//     Request.MaxReply and Request.Results, or of a SizedReply. Over RDMA, where the server says so
//     by ERR_CHUNK, the error also wraps that *rpcrdma.PeerError. Over TCP, only
//     recordmark.Config.EnforceMaxReply has such a call fail.
//   - Over RDMA in the dialect rpcrdma.Draft, the reply is longer than rpcrdma.Config.MaxMessage of
//     either end.
//   - The request asks for more room than this end provides, rpcrdma.Config.MaxMessage or, with
//     EnforceMaxReply, recordmark.Config.MaxRecord: NotSent.
type ReplyTooLongError struct {
	// Len is the length of the reply in bytes, RPC header and bulk data included; 0 if unknown, as
	// over RDMA. With NotSent it is Exchange.MaxReply, the length that the request asks for.
	Len int
	// Max is the longest reply in bytes that there was room for: Exchange.MaxReply and the buffers
	// in Exchange.Results, each rounded up to an XDR unit, or else the limit of this end.
	Max     int
	NotSent bool // the call was not sent
}

func (e *ReplyTooLongError) Error() string {
	switch {
	case e.NotSent:
		return fmt.Sprintf("room for a reply of %d bytes asked for, %d allowed", e.Len, e.Max)
	case e.Len == 0:
		return fmt.Sprintf("reply of more than the %d bytes that there is room for", e.Max)
	}
	return fmt.Sprintf("reply of %d bytes, there is room for %d", e.Len, e.Max)
}

// CallError says which call to whom failed with Err. The error of a cancelled call
// wraps the context's.
type CallError struct {
	Program, Version, Procedure uint32
	Peer                        net.Addr // may be nil
	Err                         error
}

func (e *CallError) Error() string {
	to := ""
	if e.Peer != nil {
		to = " to " + e.Peer.String()
	}
	return fmt.Sprintf("rpc call %d.%d.%d%s: %v", e.Program, e.Version, e.Procedure, to, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *CallError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
