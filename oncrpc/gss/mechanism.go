package gss

import (
	"context"
	"fmt"
	"time"
)

// Initiator creates contexts as a client, with one mechanism, such as that of package krb5.
type Initiator interface {
	// Initiate begins a context with a service, such as "nfs@server.example.org" (RFC 2743 section
	// 4.1). It may block within ctx, for example to ask a key distribution centre.
	Initiate(ctx context.Context, service string) (Negotiation, error)
}

// Acceptor creates contexts as a service, with one mechanism, such as that of package krb5.
type Acceptor interface {
	// Accept begins a context with the sender of a first token. It must not block, and must be
	// cheap, because unauthenticated peers cause it.
	Accept() Negotiation
}

// Negotiation is one end of a context that is being created.
type Negotiation interface {
	// Step processes a token from the peer; it is nil for a client's first step. It returns the
	// token to send, if any, and the context once this end has completed it. It may return both. An
	// error that wraps a *StatusError says what to tell the peer.
	Step(ctx context.Context, token []byte) (reply []byte, made Context, err error)
}

// Explainer is an optional interface of a client's Negotiation that can explain a server's refusal.
type Explainer interface {
	// Explain adds an explanation to what the server sent.
	Explain(refusal *StatusError) *StatusError
}

// Context is one end of a complete security context (RFC 2743 section 1.1.3). Its methods must be
// safe for concurrent use, and must not block. A msg is the concatenation of its parts.
type Context interface {
	// AppendMIC appends the checksum of msg to dst (GSS_GetMIC).
	AppendMIC(dst []byte, msg [][]byte) ([]byte, error)
	// VerifyMIC returns nil if mic is the peer's checksum of msg (GSS_VerifyMIC).
	VerifyMIC(mic []byte, msg [][]byte) error
	// AppendWrap appends the encrypted msg to dst (GSS_Wrap). If dst has enough capacity, it is not
	// moved.
	AppendWrap(dst []byte, msg [][]byte) ([]byte, error)
	// Unwrap decrypts token in place and returns the plain text, which is a part of token
	// (GSS_Unwrap).
	Unwrap(token []byte) ([]byte, error)

	// MaxMIC returns the maximum length in bytes of a checksum.
	MaxMIC() int
	// WrapLen returns the encrypted length in bytes of n bytes. No n may grow by more than some n
	// below 256 does.
	WrapLen(n int) int

	// Peer returns the name of the other end, such as "alice@EXAMPLE.ORG".
	Peer() string
	// Expires returns when the context expires. The zero time means never.
	Expires() time.Time
}

// Major is a major status of the GSS-API (RFC 2203 appendix A).
type Major uint32

// Statuses of the creation of a context (RFC 2203 appendix A).
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

// StatusError is a mechanism's report of what went wrong, at this end or at the peer.
type StatusError struct {
	Major Major
	Minor uint32 // the mechanism's minor status; 0 if it has none
	Err   error  // an explanation; nil if the peer sent only numbers
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
