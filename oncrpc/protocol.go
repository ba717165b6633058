package oncrpc

import "fmt"

// Version is the version of the RPC protocol (RFC 5531 section 9).
const Version = 2

// MsgType tells calls from replies (RFC 5531 section 9).
type MsgType uint32

// The message types.
const (
	MsgCall  MsgType = 0
	MsgReply MsgType = 1
)

// replyStat is the first word of a reply's body (RFC 5531 section 9).
const (
	msgAccepted = 0
	msgDenied   = 1
)

// rejectStat says why a call was denied (RFC 5531 section 9).
const (
	rpcMismatch = 0
	authError   = 1
)

// AcceptStat is the outcome of a call that was accepted (RFC 5531 section 9).
type AcceptStat uint32

// The outcomes of an accepted call.
const (
	Success      AcceptStat = 0 // executed
	ProgUnavail  AcceptStat = 1 // the server has no such program
	ProgMismatch AcceptStat = 2 // the server lacks this version of the program
	ProcUnavail  AcceptStat = 3 // the program has no such procedure
	GarbageArgs  AcceptStat = 4 // the arguments cannot be decoded
	SystemErr    AcceptStat = 5 // out of memory and the like
)

// String returns the name that RFC 5531 gives.
func (s AcceptStat) String() string {
	return name(acceptNames[:], uint32(s), "accept_stat")
}

var acceptNames = [...]string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"}

// AuthStat says why authentication failed (RFC 5531 section 9).
type AuthStat uint32

// The authentication failures.
const (
	AuthOK           AuthStat = 0
	AuthBadCred      AuthStat = 1 // bad credential
	AuthRejectedCred AuthStat = 2 // begin a new session
	AuthBadVerf      AuthStat = 3 // bad verifier
	AuthRejectedVerf AuthStat = 4 // verifier expired or replayed
	AuthTooWeak      AuthStat = 5 // rejected for security reasons
	AuthInvalidResp  AuthStat = 6 // bogus response verifier
	AuthFailed       AuthStat = 7 // reason unknown
	AuthKerbGeneric  AuthStat = 8
	AuthTimeExpire   AuthStat = 9
	AuthTktFile      AuthStat = 10
	AuthDecode       AuthStat = 11
	AuthNetAddr      AuthStat = 12
	GSSCredProblem   AuthStat = 13 // RPCSEC_GSS: no credentials for user
	GSSCtxProblem    AuthStat = 14 // RPCSEC_GSS: problem with context
)

// String returns the name that RFC 5531 gives.
func (s AuthStat) String() string { return name(authNames[:], uint32(s), "auth_stat") }

var authNames = [...]string{"AUTH_OK", "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF",
	"AUTH_TOOWEAK", "AUTH_INVALIDRESP", "AUTH_FAILED", "AUTH_KERB_GENERIC", "AUTH_TIMEEXPIRE", "AUTH_TKT_FILE",
	"AUTH_DECODE", "AUTH_NET_ADDR", "RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM"}

func name(names []string, v uint32, kind string) string {
	if v < uint32(len(names)) {
		return names[v]
	}
	return fmt.Sprintf("%s %d", kind, v)
}
