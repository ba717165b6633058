package oncrpc

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// CallHeader is the part of a call before its arguments (RFC 5531 section 9: xid, mtype and
// call_body).
type CallHeader struct {
	XID        uint32
	RPCVersion uint32
	Program    uint32
	Version    uint32
	Procedure  uint32
	Cred       Auth
	Verf       Auth
}

// Encode appends the header to e.
func (h *CallHeader) Encode(e *xdr.Encoder) {
	h.encodeToProcedure(e)
	h.Cred.encode(e)
	h.Verf.encode(e)
}

// EncodeToCred appends the header up to the end of the credential. A flavour's verifier may be a
// checksum of these bytes, as that of RPCSEC_GSS is (RFC 2203 section 5.3.1).
func (h *CallHeader) EncodeToCred(e *xdr.Encoder) {
	h.encodeToProcedure(e)
	h.Cred.encode(e)
}

func (h *CallHeader) encodeToProcedure(e *xdr.Encoder) {
	e.Uint32(h.XID)
	e.Uint32(uint32(MsgCall))
	e.Uint32(h.RPCVersion)
	e.Uint32(h.Program)
	e.Uint32(h.Version)
	e.Uint32(h.Procedure)
}

// decode decodes a call header. Its error is what the server must answer. The bodies of cred and
// verf refer to the stream.
func (h *CallHeader) decode(d *xdr.Decoder) error {
	h.XID = d.Uint32()
	if MsgType(d.Uint32()) != MsgCall && d.Err() == nil {
		d.Fail(xdr.ErrValue)
	}
	h.RPCVersion = d.Uint32()
	if d.Err() == nil && h.RPCVersion != Version {
		return &VersionError{Version, Version}
	}
	h.Program = d.Uint32()
	h.Version = d.Uint32()
	h.Procedure = d.Uint32()
	if d.Err() != nil {
		return ErrGarbageArgs
	}
	h.Cred.decode(d)
	if d.Err() != nil {
		return &AuthError{AuthBadCred}
	}
	h.Verf.decode(d)
	if d.Err() != nil {
		return &AuthError{AuthBadVerf}
	}
	return nil
}

// replyHeaderMin is the length in bytes of the header of an accepted reply (xid, mtype, reply_stat,
// verifier, accept_stat) with the empty verifier that AUTH_NONE and AUTH_SYS use (RFC 5531 sections
// 8.2 and 10).
const replyHeaderMin = 3*4 + 8 + 4

// encodeSuccess appends the header of a reply with results.
func encodeSuccess(e *xdr.Encoder, xid uint32, verf *Auth) {
	e.Uint32(xid)
	e.Uint32(uint32(MsgReply))
	e.Uint32(msgAccepted)
	if len(verf.Body) == 0 {
		e.Uint32(uint32(verf.Flavor))
		e.Uint32(0)
	} else {
		verf.encode(e)
	}
	e.Uint32(uint32(Success))
}

// encodeError appends a whole reply that reports err.
func encodeError(e *xdr.Encoder, xid uint32, verf *Auth, err error) {
	e.Uint32(xid)
	e.Uint32(uint32(MsgReply))
	switch err := err.(type) {
	case *VersionError:
		e.Uint32(msgDenied)
		e.Uint32(rpcMismatch)
		e.Uint32(err.Low)
		e.Uint32(err.High)
	case *AuthError:
		e.Uint32(msgDenied)
		e.Uint32(authError)
		e.Uint32(uint32(err.Stat))
	case *AcceptError:
		e.Uint32(msgAccepted)
		verf.encode(e)
		e.Uint32(uint32(err.Stat))
		if err.Stat == ProgMismatch {
			e.Uint32(err.Low)
			e.Uint32(err.High)
		}
	}
}

// OutcomeForCaller returns what the caller gets if err is the error of a handler, or of the Handler
// that an interceptor calls:
//
//   - nil, if the caller gets the results;
//   - the *AcceptError, *AuthError or *VersionError in err;
//   - ErrDrop, if the caller gets no answer;
//   - GARBAGE_ARGS for ErrGarbageArgs and *xdr.DecodeError, and PROC_UNAVAIL for ErrProcUnavail;
//   - SYSTEM_ERR for any other error, and for a *CallError whatever it wraps. That error is the
//     answer of another server, and the caller would mistake it for the answer to its own call.
//
// OutcomeForCaller is for servers. Clients use errors.As on the *CallError that Client.Do returns.
func OutcomeForCaller(err error) error {
	if err == nil {
		return nil
	}
	var (
		call    *CallError
		accept  *AcceptError
		auth    *AuthError
		version *VersionError
		decode  *xdr.DecodeError
	)
	switch {
	case errors.As(err, &call):
	case errors.Is(err, ErrDrop):
		return ErrDrop
	case errors.As(err, &version):
		return version
	case errors.As(err, &auth) && auth.Stat != AuthOK:
		return auth
	case errors.As(err, &accept) && accept.Stat != Success && accept.Stat <= SystemErr:
		return accept
	case errors.Is(err, ErrGarbageArgs), errors.As(err, &decode):
		return &AcceptError{Stat: GarbageArgs}
	case errors.Is(err, ErrProcUnavail):
		return &AcceptError{Stat: ProcUnavail}
	}
	return &AcceptError{Stat: SystemErr}
}

// replyError wraps an error with ErrMalformedReply, and returns nil for nil.
func replyError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrMalformedReply, err)
}

// decodeReply decodes a reply up to the results. If check is not nil, it checks the reply; verifier
// is memory for the verifier that check gets. The error is the server's answer, or wraps
// ErrMalformedReply.
func decodeReply(d *xdr.Decoder, check ReplyCheck, verifier *Auth) error {
	d.Uint32() // xid: the transport has matched it
	if MsgType(d.Uint32()) != MsgReply {
		d.Fail(xdr.ErrValue)
	}
	switch d.Enum(msgDenied) {
	case msgAccepted:
		var verf Auth
		verf.decode(d)
		stat := AcceptStat(d.Enum(uint32(SystemErr)))
		if d.Err() != nil {
			break
		}
		if check != nil {
			*verifier = verf
			if err := check.Verify(verifier); err != nil {
				return replyError(fmt.Errorf("verifier: %w", err))
			}
		}
		if stat == Success {
			if check != nil {
				return replyError(check.Open(d))
			}
			return nil
		}
		e := &AcceptError{Stat: stat}
		if stat == ProgMismatch {
			e.Low, e.High = d.Uint32(), d.Uint32()
		}
		if d.Finish() == nil {
			return e
		}
	case msgDenied:
		var err error
		if d.Enum(authError) == rpcMismatch {
			err = &VersionError{d.Uint32(), d.Uint32()}
		} else {
			err = &AuthError{AuthStat(d.Uint32())}
		}
		if d.Finish() == nil {
			return err
		}
	}
	return replyError(d.Err())
}
