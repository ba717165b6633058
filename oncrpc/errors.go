package oncrpc

import (
	"errors"
	"fmt"
	"net"
)

var (
	// ErrGarbageArgs is returned by a handler that cannot decode its arguments. The caller gets
	// GARBAGE_ARGS. Errors of the xdr decoder have the same effect.
	ErrGarbageArgs = errors.New("arguments cannot be decoded")
	// ErrProcUnavail is returned by a handler for a procedure that does not exist. The caller gets
	// PROC_UNAVAIL.
	ErrProcUnavail = errors.New("procedure unavailable")
	// ErrDrop is returned by a ServerFlavor or a handler for a call that is not answered. The
	// caller waits until it gives up. Over RPC-over-RDMA, its credit stays in use until the
	// connection ends (RFC 8166 section 3.3.1).
	ErrDrop = errors.New("call dropped")
	// ErrAlreadyServed says that the server already has this version of the program.
	ErrAlreadyServed = errors.New("program is served already")
	// ErrServerClosed is returned by the Serve functions of transports after Shutdown or Close. It
	// wraps net.ErrClosed.
	ErrServerClosed error = serverClosed{}
	// ErrTooManyConns says that ServerConfig.MaxConns leaves this peer no room for another
	// connection.
	ErrTooManyConns = errors.New("too many connections")
	// ErrXIDInUse says that a pending call on the connection has the requested transaction id.
	ErrXIDInUse = errors.New("transaction id in use")
	// ErrNotSent says that nothing of a call has left, so the peer has not executed it.
	ErrNotSent = errors.New("the call was not sent")
	// ErrNotReady is returned by ClientFlavor.Seal for a call that must wait in Ready again.
	ErrNotReady = errors.New("flavour is not ready for the call")
	// ErrMalformedReply says that a reply is not an RPC reply, or that its results cannot be
	// decoded.
	ErrMalformedReply = errors.New("malformed reply")
	// ErrAnswered matches, with errors.Is, errors of Transport.RoundTrip that are caused by an
	// answer of the peer, such as an error of the transport's protocol or a malformed answer. They
	// show that the peer is alive.
	ErrAnswered = errors.New("the peer has answered")
)

// serverClosed wraps net.ErrClosed without printing it, because that text reads like a fault.
type serverClosed struct{}

func (serverClosed) Error() string { return "oncrpc: server closed" }
func (serverClosed) Unwrap() error { return net.ErrClosed }

// AcceptError is the server's answer to a call that it accepted but did not execute.
type AcceptError struct {
	Stat      AcceptStat
	Low, High uint32 // lowest and highest version the server has, for ProgMismatch
}

func (e *AcceptError) Error() string {
	if e.Stat == ProgMismatch {
		return fmt.Sprintf("%v: the server has versions %d to %d", e.Stat, e.Low, e.High)
	}
	return e.Stat.String()
}

// AuthError is the server's answer to a call that it denied because of the credential or verifier.
// A handler or Program.Authorize returns it to deny a call.
type AuthError struct{ Stat AuthStat }

func (e *AuthError) Error() string { return "denied: " + e.Stat.String() }

// VersionError is the server's answer RPC_MISMATCH: it supports other versions of the RPC protocol.
type VersionError struct{ Low, High uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("RPC_MISMATCH: the server speaks RPC versions %d to %d", e.Low, e.High)
}

// CallTooLongError says that a call is longer than rpcrdma.Config.MaxMessage or
// recordmark.Config.MaxRecord of this end. The call was not sent, and the connection stays usable.
//
// This end does not know the peer's limit. A call beyond that limit fails with a *rpcrdma.PeerError
// with ERR_CHUNK over RDMA, and ends the connection over TCP.
type CallTooLongError struct {
	Len int // length of the call in bytes, RPC header included; 0 if unknown
	Max int // limit in bytes
}

func (e *CallTooLongError) Error() string {
	if e.Len == 0 {
		return fmt.Sprintf("call of more than the %d bytes allowed", e.Max)
	}
	return fmt.Sprintf("call of %d bytes, %d allowed", e.Len, e.Max)
}

// ReplyTooLongError says that the reply to a call is longer than the room for it. The connection
// stays usable. Unless NotSent is set, the server has executed the call.
//
// The possible causes are:
//
//   - The reply does not fit in Exchange.MaxReply and Exchange.Results, which come from the Request
//     or its SizedReply. Over RDMA, the server reports that with ERR_CHUNK, and the error also
//     wraps the *rpcrdma.PeerError. If the call had read chunks, ERR_CHUNK may have other reasons,
//     and the error is the *rpcrdma.PeerError alone. Over TCP, this is an error only with
//     recordmark.Config.EnforceMaxReply.
//   - Over RDMA in the dialect rpcrdma.Draft, the reply is longer than rpcrdma.Config.MaxMessage of
//     either end.
//   - The request asks for more room than this end allows: rpcrdma.Config.MaxMessage or, with
//     EnforceMaxReply, recordmark.Config.MaxRecord. NotSent is set.
type ReplyTooLongError struct {
	// Len is the length of the reply in bytes, RPC header and bulk data included; 0 if unknown, as
	// over RDMA. With NotSent it is Exchange.MaxReply, the length that the request asks for.
	Len int
	// Max is the room for the reply in bytes: Exchange.MaxReply and the buffers in
	// Exchange.Results, each rounded up to an XDR unit, or the limit of this end.
	Max     int
	NotSent bool // the call was not sent
}

func (e *ReplyTooLongError) Error() string {
	switch {
	case e.NotSent:
		return fmt.Sprintf("call asks for room for a reply of %d bytes, %d allowed", e.Len, e.Max)
	case e.Len == 0:
		return fmt.Sprintf("reply longer than the %d bytes of room for it", e.Max)
	}
	return fmt.Sprintf("reply of %d bytes, room for %d", e.Len, e.Max)
}

// CallError says which call to which peer failed, and wraps the cause. If the call was cancelled,
// it wraps the context's error.
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

// Timeout reports whether the cause was a timeout, like net.Error.
func (e *CallError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
