package krb5

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// code is an error code of the protocol (RFC 4120 section 7.5.9).
type code int32

const (
	codeClientUnknown    code = 6
	codeServerUnknown    code = 7
	codePolicy           code = 12
	codeEtype            code = 14
	codeRevoked          code = 18
	codeKeyExpired       code = 23
	codePreauthFailed    code = 24
	codePreauthRequired  code = 25
	codeBadIntegrity     code = 31
	codeTicketExpired    code = 32
	codeTicketNotYet     code = 33
	codeRepeat           code = 34
	codeNotUs            code = 35
	codeBadMatch         code = 36
	codeSkew             code = 37
	codeBadVersion       code = 39
	codeMsgType          code = 40
	codeModified         code = 41
	codeBadKeyVersion    code = 44
	codeNoKey            code = 45
	codeMethod           code = 48
	codeBadChecksum      code = 50
	codePathNotAccepted  code = 51
	codeResponseTooBig   code = 52
	codeGeneric          code = 60
	codeWrongRealm       code = 68
	codeMustUseUserUser  code = 69
	codeNoTicketGranting code = 67
)

var codeWords = map[code]string{
	codeClientUnknown:    "client not found in Kerberos database",
	codeServerUnknown:    "server not found in Kerberos database",
	codePolicy:           "KDC policy rejects request",
	codeEtype:            "KDC has no support for encryption type",
	codeRevoked:          "client's credentials have been revoked",
	codeKeyExpired:       "password has expired",
	codePreauthFailed:    "preauthentication failed",
	codePreauthRequired:  "additional preauthentication required",
	codeBadIntegrity:     "integrity check on decrypted field failed",
	codeTicketExpired:    "ticket expired",
	codeTicketNotYet:     "ticket not yet valid",
	codeRepeat:           "request is a replay",
	codeNotUs:            "the ticket is not for us",
	codeBadMatch:         "ticket and authenticator do not match",
	codeSkew:             "clock skew too great",
	codeBadVersion:       "protocol version mismatch",
	codeMsgType:          "invalid message type",
	codeModified:         "message stream modified",
	codeBadKeyVersion:    "specified version of key is not available",
	codeNoKey:            "service key not available",
	codeMethod:           "alternative authentication method required",
	codeBadChecksum:      "inappropriate type of checksum in message",
	codePathNotAccepted:  "transited path not accepted",
	codeResponseTooBig:   "response too big for UDP",
	codeGeneric:          "generic error",
	codeWrongRealm:       "wrong realm",
	codeMustUseUserUser:  "user-to-user authorization required",
	codeNoTicketGranting: "no ticket-granting ticket available",
}

func (c code) String() string {
	if s, ok := codeWords[c]; ok {
		return s
	}
	return fmt.Sprintf("Kerberos error %d", int32(c))
}

// minorBase is the minor status of code 0 in MIT's error table krb5.
const minorBase = 0x96c73a00

// minor returns the minor status that MIT's library uses for a code. MIT's programs print it in
// words.
func (c code) minor() uint32 { return minorBase + uint32(c) }

// major returns the major status for a code.
func (c code) major() gss.Major {
	switch c {
	case codeTicketExpired:
		return gss.CredentialsExpired
	case codeRepeat:
		return gss.DuplicateToken
	case codeSkew, codeTicketNotYet, codeNoKey, codeBadKeyVersion, codeNotUs, codeGeneric, codeEtype,
		codePathNotAccepted:
		return gss.Failure
	case codeBadIntegrity, codeBadMatch:
		return gss.DefectiveCredential
	case codeServerUnknown, codeClientUnknown, codeKeyExpired, codeRevoked, codePreauthFailed:
		return gss.NoCred
	}
	return gss.DefectiveToken
}

// failed returns an error with a code and a text that says what to do. It makes principals
// printable, because peers choose their names.
func failed(c code, format string, args ...any) *gss.StatusError {
	for i, a := range args {
		if p, ok := a.(principal); ok {
			args[i] = printable(p.String())
		}
	}
	return &gss.StatusError{Major: c.major(), Minor: c.minor(), Err: fmt.Errorf(format, args...)}
}

// codeOf returns the code in an error, or codeGeneric.
func codeOf(err error) code {
	var s *gss.StatusError
	if errors.As(err, &s) {
		if c, ok := codeOfMinor(s.Minor); ok {
			return c
		}
	}
	return codeGeneric
}

// codeOfMinor returns the code for a minor status. MIT's error table has 128.
func codeOfMinor(minor uint32) (code, bool) {
	return code(minor - minorBase), minor > minorBase && minor < minorBase+128
}
