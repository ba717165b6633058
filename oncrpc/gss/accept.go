package gss

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// serverCall is an accepted call: its caller, and the protection of its results. It is reused for
// later calls.
type serverCall struct {
	message
	f      *ServerFlavor
	conn   oncrpc.Transport
	caller Caller
	header xdr.Encoder
	verf   []byte
}

// scratch returns the memory for a call.
func scratch(a *oncrpc.Acceptance) *serverCall {
	s, ok := a.Scratch.(*serverCall)
	if !ok {
		s = new(serverCall)
		a.Scratch = s
	}
	return s
}

// Release is called when the call has ended.
func (s *serverCall) Release() {
	s.end()
	s.f, s.conn, s.caller = nil, nil, Caller{}
}

// Why calls are refused, for the log.
var (
	errCred        = errors.New("credential is malformed")
	errVersion     = errors.New("version of RPCSEC_GSS is not 1")
	errControl     = errors.New("control message is not for procedure 0")
	errUnknown     = errors.New("context is unknown")
	errHeader      = errors.New("checksum of the header is wrong")
	errExpired     = errors.New("context has expired")
	errMaxSeq      = errors.New("sequence numbers of the context are used up")
	errCreateVerf  = errors.New("context is created with a verifier")
	errReplay      = errors.New("sequence number was used before")
	errOutOfWindow = errors.New("sequence number is below the window")
)

// Accept implements oncrpc.ServerFlavor.
func (f *ServerFlavor) Accept(ctx context.Context, a *oncrpc.Acceptance) error {
	h := a.Header()
	var cred credential
	malformed := cred.decode(h.Cred.Body) != nil
	switch {
	case cred.version != version1 && cred.procedure.creates():
		return f.refuse(a, errVersion, oncrpc.AuthRejectedCred) // RFC 2203 section 5.2.3.2
	case cred.version != version1:
		return f.refuse(a, errVersion, oncrpc.AuthBadCred) // contexts are of version 1
	case malformed, cred.procedure > procDestroy:
		return f.refuse(a, errCred, oncrpc.AuthBadCred)
	case cred.procedure != procData && h.Procedure != 0:
		return f.refuse(a, errControl, oncrpc.AuthBadCred)
	case cred.procedure.creates():
		return f.create(ctx, a, &cred)
	case cred.service < None || cred.service > Privacy:
		return f.refuse(a, errCred, oncrpc.AuthBadCred)
	}
	return f.data(a, &cred)
}

// refuse denies a call.
func (f *ServerFlavor) refuse(a *oncrpc.Acceptance, why error, stat oncrpc.AuthStat) error {
	counter := &f.stats.BadCreds
	switch why {
	case errUnknown:
		counter = &f.stats.Unknown
	case errHeader:
		counter = &f.stats.BadMICs
	case errExpired, errMaxSeq:
		counter = &f.stats.Stale
	}
	atomic.AddUint64(counter, 1)
	if why != errUnknown && why != errExpired { // well-behaved clients cause these two
		f.faults.Fault(a.Conn().RemoteAddr(), "gss: call denied", why, "err", why, "told", stat)
	}
	return &oncrpc.AuthError{Stat: stat}
}

// data accepts a call that uses a context (RFC 2203 section 5.3.3) or destroys it (section 5.4).
func (f *ServerFlavor) data(a *oncrpc.Acceptance, cred *credential) error {
	now := f.cfg.Now()
	sc := f.contexts.find(cred.handle, now)
	if sc == nil {
		return f.refuse(a, errUnknown, oncrpc.GSSCredProblem)
	}
	s := scratch(a)
	s.begin(sc.made, cred.service, cred.seq)
	s.f, s.conn = f, a.Conn()
	switch err := s.verifyHeader(a.Header()); {
	case err == nil:
	case isExpiry(err):
		return f.refuse(a, errExpired, oncrpc.GSSCtxProblem)
	default:
		return f.refuse(a, errHeader, oncrpc.GSSCredProblem)
	}
	switch {
	case cred.seq >= maxSeq:
		return f.refuse(a, errMaxSeq, oncrpc.GSSCtxProblem)
	case sc.expired(now):
		return f.refuse(a, errExpired, oncrpc.GSSCtxProblem)
	}
	switch sc.window.see(cred.seq) {
	case replay:
		atomic.AddUint64(&f.stats.Replays, 1)
		return f.discard(a.Conn(), errReplay)
	case tooOld:
		atomic.AddUint64(&f.stats.OutOfWindow, 1)
		return f.discard(a.Conn(), errOutOfWindow)
	}
	var err error
	if s.verf, err = s.appendMIC(s.verf[:0], s.number[:]); err != nil {
		// RFC 2203 section 5.3.3.4.1
		return f.refuse(a, errExpired, oncrpc.GSSCtxProblem)
	}
	a.Verifier = oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: s.verf}
	if cred.procedure == procDestroy {
		if f.contexts.drop(sc) {
			atomic.AddUint64(&f.stats.Destroyed, 1)
		}
		a.BeginAnswer()
		return nil
	}
	if err := s.open(a.Args()); err != nil {
		atomic.AddUint64(&f.stats.GarbageBodies, 1)
		f.faults.Fault(a.Conn().RemoteAddr(), "gss: arguments refused", nil,
			"principal", sc.principal, "service", cred.service, "err", err)
		return oncrpc.ErrGarbageArgs
	}
	s.caller = Caller{sc.principal, cred.service}
	a.Identity = &s.caller
	if cred.service != None {
		a.Wrapper = s
	}
	return nil
}

// verifyHeader checks the verifier of a call, the checksum of its header (RFC 2203 section 5.3.1).
func (s *serverCall) verifyHeader(h *oncrpc.CallHeader) error {
	if h.Verf.Flavor != oncrpc.FlavorGSS {
		return errHeader
	}
	s.header.Reset()
	h.EncodeToCred(&s.header)
	return s.verifyMIC(h.Verf.Body, s.header.Message().Inline)
}

// isExpiry reports whether err says that the context or its credentials have expired.
func isExpiry(err error) bool {
	var status *StatusError
	return errors.As(err, &status) &&
		(status.Major == ContextExpired || status.Major == CredentialsExpired)
}

// discard closes the connection of a call that is not answered.
func (f *ServerFlavor) discard(conn oncrpc.Transport, why error) error {
	atomic.AddUint64(&f.stats.ConnsClosed, 1)
	f.faults.Fault(conn.RemoteAddr(), "gss: call without an answer, connection closed", why,
		"err", why)
	_ = conn.Close()
	return oncrpc.ErrDrop
}

// Wrap implements oncrpc.ResultsWrapper.
func (s *serverCall) Wrap(e *xdr.Encoder, results *xdr.Message) error {
	if err := s.protect(e, results); err != nil {
		// RFC 2203 sections 5.3.3.4.1 and 5.3.3.4.4
		atomic.AddUint64(&s.f.stats.WrapFailures, 1)
		atomic.AddUint64(&s.f.stats.ConnsClosed, 1)
		s.f.faults.Failure("gss: reply cannot be protected, connection closed", nil,
			"peer", s.conn.RemoteAddr(), "principal", s.caller.Principal, "err", err)
		_ = s.conn.Close()
		return oncrpc.ErrDrop
	}
	return nil
}
