package oncrpc

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ServerFlavor accepts the calls of one flavour. [AcceptAuthNone], [AcceptAuthSys] and
// [AcceptAuthTLS] return those that a Server has unless ServerConfig.Flavors says otherwise. Accept
// is called concurrently.
type ServerFlavor interface {
	// Flavor returns the number of the flavour.
	Flavor() AuthFlavor

	// Accept finds out who calls, and whether to believe it, before anything else is done with the
	// call, be it of procedure 0. It may block, on one of the server's workers, of which there are
	// ServerConfig.MaxConcurrent; so it bounds its waits. ctx ends with the connection.
	//
	// Its error refuses the call: an *AuthError denies it; an *AcceptError, as GARBAGE_ARGS for
	// arguments whose checksum is wrong, is answered with the verifier set by then; ErrDrop leaves
	// the call without an answer (RFC 2203 section 5.3.3.1), which leaves its caller waiting; any
	// other is logged and answered with SYSTEM_ERR. Over RPC-over-RDMA a call without an answer
	// has its credit for as long as the connection lasts. To end that, too, close a.Conn().
	//
	// Calls of one client need not come in the order in which they were sealed: they run on
	// workers, and over several connections. A window of sequence numbers holds at least as many as
	// there can be calls under way, on all connections of the client.
	Accept(ctx context.Context, a *Acceptance) error
}

// Identity is who calls, as a ServerFlavor has found out. It is valid until the call has been
// answered.
type Identity interface {
	// AppendKey appends what tells this caller from all others of the same flavour, and is the same
	// whenever he makes a call once more: the reply cache goes by it. So it is the user or
	// principal, and how the call is protected, and not a session or context, which a client may
	// have made anew when it calls again.
	AppendKey(b []byte) []byte
	// String names the caller in a log.
	String() string
}

// ResultsWrapper protects the results of one call.
type ResultsWrapper interface {
	// Wrap appends the results to e, behind the header of the reply, as they shall travel. They
	// stay as they are; what e gets must be bytes, also of bulk data, which neither a checksum nor
	// a cipher allows to be placed by RDMA Write (RFC 8166 section 8.2.2.3): results.Pieces(e.Raw)
	// appends them all. A flavour that wraps results has a ClientFlavor whose AllowsPlacement is
	// false. An error is logged, and the caller told SYSTEM_ERR, or with ErrDrop nothing.
	Wrap(e *xdr.Encoder, results *xdr.Message) error
}

// Acceptance is a call as a ServerFlavor sees it, and what it says about it. It is valid until
// Accept returns.
type Acceptance struct {
	// Identity is who calls. Nil is nobody in particular, for whom Call.Identity has a value of its
	// own.
	Identity Identity
	// Verifier goes with every reply to the call that says that it was accepted. Its body must stay
	// as it is until that has left. The zero value is that of AUTH_NONE.
	Verifier Auth
	// Wrapper protects the results; nil sends them as they are. It is called once for each reply,
	// maybe after its execution was long over: a reply from the cache is wrapped for the call that
	// it answers.
	Wrapper ResultsWrapper
	// Scratch is memory of the flavour's own, to use again: what it has put there for an earlier
	// call that has ended since, or nil, or what another flavour has. If it is an xdr.Releaser, it
	// is told when the call has ended.
	Scratch any

	call     *Call
	answered bool
}

// Header returns the header of the call. What its verifier is a checksum of is had from
// CallHeader.EncodeToCred.
func (a *Acceptance) Header() *CallHeader { return &a.call.CallHeader }

// Args decodes the arguments as they came. A flavour that wraps them takes them all,
//
//	wrapped := args.Raw(args.Remaining())
//
// and has the decoder decode what was in them (Decoder.Reset), which may be the same memory,
// decrypted. The memory must stay until the call is answered. A call whose bulk data came beside
// the message has some missing, and its checksum is wrong.
func (a *Acceptance) Args() *xdr.Decoder { return a.call.Args }

// Conn returns the connection that the call came on.
func (a *Acceptance) Conn() Transport { return a.call.Conn }

// BeginAnswer has the flavour answer the call itself when Accept returns nil, with the results that
// are encoded into what BeginAnswer returns, and that are not wrapped: so RPCSEC_GSS creates and
// destroys contexts, by calls of procedure 0 (RFC 2203 sections 5.2 and 5.4). Neither the program
// nor an interceptor sees the call.
func (a *Acceptance) BeginAnswer() *xdr.Encoder {
	a.answered = true
	return &a.call.enc
}

// TLSStarter is a Transport on which the peer may start TLS.
type TLSStarter interface {
	// StartTLS has TLS begin behind the reply to the call of the peer that is being accepted. It is
	// called on the goroutine that received the call. An error says why it cannot be: there is TLS
	// already, or this end has none.
	StartTLS() error
}

// AcceptAuthTLS returns the flavour AUTH_TLS (RFC 9289 section 4.1): calls of procedure 0, whatever
// the program, by which a client asks for TLS on a connection that can have it. What it says of
// others is AUTH_BADCRED.
func AcceptAuthTLS() ServerFlavor { return acceptTLS{} }

type acceptTLS struct{}

func (acceptTLS) Flavor() AuthFlavor { return FlavorTLS }

// starttls is the body of the verifier by which a server agrees.
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

// AcceptAuthNone returns the flavour AUTH_NONE (RFC 5531 section 10.1): nobody in particular.
func AcceptAuthNone() ServerFlavor { return acceptNone{} }

// AcceptAuthSys returns the flavour AUTH_SYS (RFC 5531 appendix A). It believes what callers claim
// to be, which Call.Sys returns.
func AcceptAuthSys() ServerFlavor { return acceptSys{} }

type acceptNone struct{}

func (acceptNone) Flavor() AuthFlavor { return FlavorNone }

func (acceptNone) Accept(context.Context, *Acceptance) error { return nil }

// nobodyInParticular is the identity of a call that has none.
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

// AppendKey appends the credential without its stamp, which means nothing (RFC 5531 appendix A),
// and may be the time.
func (s *sysIdentity) AppendKey(b []byte) []byte { return append(b, s.Cred.Body[4:]...) }

func (s *sysIdentity) String() string { return fmt.Sprintf("uid %d, gid %d", s.sys.UID, s.sys.GID) }

// acceptor is a flavour in a Server.
type acceptor struct {
	ServerFlavor
	number AuthFlavor
	blocks bool // or may
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
