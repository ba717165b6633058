package oncrpc

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ServerFlavor authenticates the calls of one flavour for a server. A Server has [AcceptAuthNone],
// [AcceptAuthSys] and [AcceptAuthTLS], unless ServerConfig.Flavors says otherwise. Accept must be
// safe for concurrent use.
type ServerFlavor interface {
	// Flavor returns the number of the flavour.
	Flavor() AuthFlavor

	// Accept identifies the caller and decides whether to believe it, before anything else happens
	// with the call, even for procedure 0. It may block, but it occupies one of the server's
	// ServerConfig.MaxConcurrent workers, so it must bound its waits. ctx ends with the connection.
	//
	// An error refuses the call:
	//
	//  - An *AuthError denies it.
	//  - An *AcceptError, such as GARBAGE_ARGS for arguments with a wrong checksum, is sent with
	//    the Verifier set so far.
	//  - ErrDrop leaves the call without an answer (RFC 2203 section 5.3.3.1). Its caller keeps
	//    waiting, and over RPC-over-RDMA it keeps its credit until the connection ends. To end
	//    that, close a.Conn().
	//  - Any other error is logged and answered with SYSTEM_ERR.
	//
	// Calls of one client may arrive in another order than they were sealed in, because they run on
	// workers and over several connections. A window of sequence numbers must have room for all
	// calls that the client can have pending, on all its connections.
	Accept(ctx context.Context, a *Acceptance) error
}

// Identity identifies a caller whom a ServerFlavor has authenticated. It is valid until the call
// has been answered.
type Identity interface {
	// AppendKey appends a key that distinguishes this caller from all others of the same flavour.
	// The reply cache uses it, so it must be the same when the caller repeats a call. Include the
	// user or principal and how the call is protected. Leave out sessions and contexts, which a
	// client may have created anew before it repeats the call. A panic is like one of the handler.
	AppendKey(b []byte) []byte
	// String names the caller in a log.
	String() string
}

// ResultsWrapper protects the results of one call.
type ResultsWrapper interface {
	// Wrap appends the protected results to e, after the reply's header. It must not change
	// results. All data, including bulk data, must become bytes of e, because neither a checksum
	// nor encryption allows RDMA Write (RFC 8166 section 8.2.2.3): results.Pieces(e.Raw) appends
	// everything. The AllowsPlacement of the matching ClientFlavor is then false. An error is
	// logged and answered with SYSTEM_ERR, and ErrDrop with nothing.
	Wrap(e *xdr.Encoder, results *xdr.Message) error
}

// Acceptance is a call presented to a ServerFlavor, with the flavour's results. It is valid until
// Accept returns.
type Acceptance struct {
	// Identity is the caller. If it is nil, Call.Identity returns an anonymous identity.
	Identity Identity
	// Verifier is sent with every reply that accepts the call. Its body must not change until the
	// reply is sent. The zero value is that of AUTH_NONE.
	Verifier Auth
	// Wrapper protects the results; nil sends them unprotected. It is called once for each reply. A
	// reply from the cache is wrapped for the call that it answers, maybe long after the execution.
	Wrapper ResultsWrapper
	// Scratch is memory for the flavour to reuse. It holds whatever some flavour stored there for
	// an earlier call, or nil, so check its type. If it is an xdr.Releaser, the server calls
	// Release when the call has ended.
	Scratch any

	call     *Call
	answered bool
}

// Header returns the header of the call. If its verifier is a checksum, CallHeader.EncodeToCred
// returns the bytes that the checksum covers.
func (a *Acceptance) Header() *CallHeader { return &a.call.CallHeader }

// Args decodes the arguments as they arrived. A flavour that wraps arguments takes all of them,
//
//	wrapped := args.Raw(args.Remaining())
//
// and resets the decoder to the unwrapped arguments (Decoder.Reset), which may be the same memory
// decrypted in place. The memory must stay valid until the call is answered. Bulk data that arrived
// separately is missing here, so a checksum over it fails.
func (a *Acceptance) Args() *xdr.Decoder { return a.call.Args }

// Conn returns the connection that the call came on.
func (a *Acceptance) Conn() Transport { return a.call.Conn }

// BeginAnswer makes the flavour answer the call itself if Accept returns nil. The flavour encodes
// the results into the returned encoder; they are not wrapped. RPCSEC_GSS uses this to create and
// destroy contexts by calls of procedure 0 (RFC 2203 sections 5.2 and 5.4). Neither the program nor
// an interceptor sees the call.
func (a *Acceptance) BeginAnswer() *xdr.Encoder {
	a.answered = true
	return &a.call.enc
}

// TLSStarter is a Transport on which a client may start TLS.
type TLSStarter interface {
	// StartTLS starts TLS right after the reply to the call that is being accepted. The server
	// calls it on the goroutine that received the call. It returns an error if TLS has started
	// already, or if this end has no TLS configuration.
	StartTLS() error
}

// AcceptAuthTLS returns the flavour AUTH_TLS (RFC 9289 section 4.1). With it, a client requests TLS
// by a call of procedure 0 of any program, on a connection that supports TLS. All other calls are
// denied with AUTH_BADCRED.
func AcceptAuthTLS() ServerFlavor { return acceptTLS{} }

type acceptTLS struct{}

func (acceptTLS) Flavor() AuthFlavor { return FlavorTLS }

// starttls is the body of the verifier that agrees to TLS (RFC 9289 section 4.1).
var starttls = []byte("STARTTLS")

func (acceptTLS) Accept(_ context.Context, a *Acceptance) error {
	h := a.Header()
	conn, ok := a.Conn().(TLSStarter)
	if !ok || h.Procedure != 0 || len(h.Cred.Body) > 0 || h.Verf.Flavor != FlavorNone ||
		len(h.Verf.Body) > 0 || conn.StartTLS() != nil {
		return &AuthError{AuthBadCred}
	}
	a.Verifier = Auth{Flavor: FlavorNone, Body: starttls}
	a.BeginAnswer()
	return nil
}

// AcceptAuthNone returns the flavour AUTH_NONE (RFC 5531 section 10.1), whose callers are
// anonymous.
func AcceptAuthNone() ServerFlavor { return acceptNone{} }

// AcceptAuthSys returns the flavour AUTH_SYS (RFC 5531 appendix A). It believes whatever callers
// claim. Call.Sys returns the claim.
func AcceptAuthSys() ServerFlavor { return acceptSys{} }

type acceptNone struct{}

func (acceptNone) Flavor() AuthFlavor { return FlavorNone }

func (acceptNone) Accept(context.Context, *Acceptance) error { return nil }

// nobodyInParticular is the identity of an anonymous caller.
type nobodyInParticular struct{}

func (nobodyInParticular) AppendKey(b []byte) []byte { return b }
func (nobodyInParticular) String() string            { return "anybody" }

type acceptSys struct{}

func (acceptSys) Flavor() AuthFlavor { return FlavorSys }

func (acceptSys) Accept(_ context.Context, a *Acceptance) error {
	c := a.call
	if c.sys.Decode(c.Cred.Body) != nil {
		return &AuthError{AuthBadCred}
	}
	a.Identity, c.believed = (*sysIdentity)(c), true
	return nil
}

// sysIdentity is the caller of a call with AUTH_SYS.
type sysIdentity Call

// AppendKey appends the credential without its stamp, which has no meaning (RFC 5531 appendix A)
// and may be the time.
func (s *sysIdentity) AppendKey(b []byte) []byte { return append(b, s.Cred.Body[4:]...) }

func (s *sysIdentity) String() string { return fmt.Sprintf("uid %d, gid %d", s.sys.UID, s.sys.GID) }

// acceptor is a ServerFlavor registered with a Server.
type acceptor struct {
	ServerFlavor
	number AuthFlavor
	blocks bool // whether it may block
}

func acceptors(flavors []ServerFlavor) []acceptor {
	if flavors == nil {
		flavors = []ServerFlavor{AcceptAuthSys(), AcceptAuthNone(), AcceptAuthTLS()}
	}
	var list []acceptor
	for _, f := range flavors {
		a := acceptor{f, f.Flavor(), true}
		switch f.(type) {
		case acceptNone, acceptSys, acceptTLS:
			a.blocks = false
		}
		list = append(list, a)
	}
	return list
}
