package gss

import (
	"context"
	"fmt"
	"time"
)

// Initiator makes contexts as a client of services, by one mechanism. Package krb5 has one.
type Initiator interface {
	// Initiate begins a context with a service, "nfs@server.example.org" (RFC 2743 section 4.1). It
	// may block, and call others, as a key distribution centre, within ctx.
	Initiate(ctx context.Context, service string) (Negotiation, error)
}

// Acceptor makes contexts as a service, by one mechanism. Package krb5 has one.
type Acceptor interface {
	// Accept begins a context with whoever sends the first token. It does not block, and costs
	// little: strangers have it called.
	Accept() Negotiation
}

// Negotiation is a context that is being made, at one end.
type Negotiation interface {
	// Step takes the token that the peer has sent, which a client's end has none of at first. It
	// returns the token to send, if there is one, and the context once this end has made it. Both
	// may come together. An error that wraps a *StatusError says what to tell the peer.
	Step(ctx context.Context, token []byte) (reply []byte, made Context, err error)
}

// Explainer is a client's Negotiation that knows what a server's refusal means.
type Explainer interface {
	// Explain puts into words what the server has sent.
	Explain(refusal *StatusError) *StatusError
}

// Context is a security context that has been made, at one end (RFC 2743 section 1.1.3). Its
// methods may be called concurrently, and do not block. A msg is its parts, one after another.
type Context interface {
	// AppendMIC appends the checksum of msg to dst (GSS_GetMIC).
	AppendMIC(dst []byte, msg [][]byte) ([]byte, error)
	// VerifyMIC returns nil if mic is the checksum of msg that the peer has made (GSS_VerifyMIC).
	VerifyMIC(mic []byte, msg [][]byte) error
	// AppendWrap appends msg, encrypted, to dst (GSS_Wrap). If dst has room, it is not moved.
	AppendWrap(dst []byte, msg [][]byte) ([]byte, error)
	// Unwrap decrypts token in its place, and returns what the peer has put into it, which is a
	// part of it (GSS_Unwrap).
	Unwrap(token []byte) ([]byte, error)

	// MaxMIC is the length in bytes of the longest checksum.
	MaxMIC() int
	// WrapLen is the length in bytes of n bytes when they are encrypted. They grow by no more than
	// some number of bytes below 256 does.
	WrapLen(n int) int

	// Peer is the name of the other end, such as "alice@EXAMPLE.ORG".
	Peer() string
	// Expires is when the context ends. The zero time is never.
	Expires() time.Time
}

// Major is a major status of the GSS-API (RFC 2203 appendix A).
type Major uint32

// What a context that is being made may end by (RFC 2203 appendix A).
const (
	Complete            Major = 0
	ContinueNeeded      Major = 1
	DuplicateToken      Major = 2
	OldToken            Major = 4
	BadMech             Major = 0x00010000
	BadName             Major = 0x00020000
	BadBindings         Major = 0x00040000
	BadMIC              Major = 0x00060000
	NoCred              Major = 0x00070000
	DefectiveToken      Major = 0x00090000
	DefectiveCredential Major = 0x000a0000
	CredentialsExpired  Major = 0x000b0000
	ContextExpired      Major = 0x000c0000
	Failure             Major = 0x000d0000
	Unauthorized        Major = 0x000f0000
)

var majors = map[Major]string{
	Complete: "GSS_S_COMPLETE", ContinueNeeded: "GSS_S_CONTINUE_NEEDED",
	DuplicateToken: "GSS_S_DUPLICATE_TOKEN", OldToken: "GSS_S_OLD_TOKEN",
	BadMech: "GSS_S_BAD_MECH", BadName: "GSS_S_BAD_NAME", BadBindings: "GSS_S_BAD_BINDINGS",
	BadMIC: "GSS_S_BAD_MIC", NoCred: "GSS_S_NO_CRED", DefectiveToken: "GSS_S_DEFECTIVE_TOKEN",
	DefectiveCredential: "GSS_S_DEFECTIVE_CREDENTIAL",
	CredentialsExpired:  "GSS_S_CREDENTIALS_EXPIRED", ContextExpired: "GSS_S_CONTEXT_EXPIRED",
	Failure: "GSS_S_FAILURE", Unauthorized: "GSS_S_UNAUTHORIZED",
}

func (m Major) String() string {
	if s, ok := majors[m]; ok {
		return s
	}
	return fmt.Sprintf("GSS-API status 0x%08x", uint32(m))
}

// StatusError is what a mechanism says of what went wrong, at this end or at the peer's.
type StatusError struct {
	Major Major
	Minor uint32 // of the mechanism; 0 where it says no more
	Err   error  // in words; nil where the peer has sent numbers only
}

func (e *StatusError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%v: %v", e.Major, e.Err)
	case e.Minor != 0:
		return fmt.Sprintf("%v, minor status %d", e.Major, e.Minor)
	}
	return e.Major.String()
}

func (e *StatusError) Unwrap() error { return e.Err }
