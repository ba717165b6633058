package gss

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// noContext is the status for a client whose context is not being created (RFC 2203 appendix A).
const noContext Major = 0x00080000 // GSS_S_NO_CONTEXT

// Why contexts are not created, for the log and for answers.
var (
	errNotBegun = errors.New("no such context is being created: it timed out or never existed")
	errRounds   = errors.New("context needs too many tokens")
	errBusy     = errors.New("too many contexts are being created")
)

// create answers a call that begins or continues the creation of a context (RFC 2203 section 5.2).
// RPCSEC_GSS_CREDPROBLEM and RPCSEC_GSS_CTXPROBLEM are not valid answers to such calls.
func (f *ServerFlavor) create(ctx context.Context, a *oncrpc.Acceptance, cred *credential) error {
	if v := a.Header().Verf; v.Flavor != oncrpc.FlavorNone || len(v.Body) > 0 {
		return f.refuse(a, errCreateVerf, oncrpc.AuthBadVerf)
	}
	if cred.procedure == procInit && len(cred.handle) > 0 {
		return f.refuse(a, errCred, oncrpc.AuthBadCred)
	}
	args := a.Args()
	token := args.Opaque(maxToken)
	if args.Finish() != nil {
		atomic.AddUint64(&f.stats.GarbageBodies, 1)
		return oncrpc.ErrGarbageArgs
	}
	res, principal, err := f.negotiate(ctx, a, cred, token)
	peer := a.Conn().RemoteAddr()
	switch {
	case err != nil:
		atomic.AddUint64(&f.stats.Refused, 1)
		res = statusOf(err)
		f.faults.Fault(peer, "gss: context refused", res.major, "err", err)
	case res.major == Complete:
		atomic.AddUint64(&f.stats.Made, 1)
		f.arrivals.Event(peer, "gss: context made", principal, "principal", principal)
	}
	res.MarshalXDR(a.BeginAnswer())
	return nil
}

// statusOf returns the answer to a client for an error: a status with neither handle nor token (RFC
// 2203 section 5.2.3.1).
func statusOf(err error) initRes {
	var status *StatusError
	switch {
	case errors.As(err, &status) && status.Major != Complete && status.Major != ContinueNeeded:
		return initRes{major: status.Major, minor: status.Minor}
	case err == errNotBegun:
		return initRes{major: noContext}
	}
	return initRes{major: Failure}
}

// negotiate processes a token. When the context is complete, it sets the verifier of the answer.
func (f *ServerFlavor) negotiate(ctx context.Context, a *oncrpc.Acceptance, cred *credential,
	token []byte) (res initRes, principal string, err error) {
	now := f.cfg.Now()
	sc := &serverContext{host: peerhost.Of(a.Conn().RemoteAddr()), until: now.Add(halfMadeTimeout)}
	if cred.procedure == procContinueInit {
		if sc = f.contexts.claim(cred.handle, now); sc == nil {
			return res, "", errNotBegun
		}
	}
	ctx, cancel := context.WithTimeout(ctx, halfMadeTimeout)
	defer cancel()
	select {
	case f.handshakes <- struct{}{}:
	case <-ctx.Done():
		return res, "", errBusy
	}
	defer func() { <-f.handshakes }()
	if sc.negotiation == nil {
		sc.negotiation = f.cfg.Acceptor.Accept()
	}
	reply, made, err := sc.negotiation.Step(ctx, token)
	if err != nil {
		return res, "", err
	}
	res = initRes{major: ContinueNeeded, window: windowLen, token: reply}
	if sc.rounds++; made == nil && sc.rounds >= maxRounds {
		return res, "", errRounds
	}
	if made != nil {
		if err := f.made(a, sc, made); err != nil {
			return res, "", err
		}
		res.major = Complete
	}
	f.contexts.insert(sc, now)
	res.handle = sc.handle[:]
	return res, sc.principal, nil
}

// made completes a context. It sets the verifier of the answer, the checksum of the window's
// length.
func (f *ServerFlavor) made(a *oncrpc.Acceptance, sc *serverContext, made Context) error {
	sc.negotiation, sc.made = nil, made
	sc.principal, sc.expires = made.Peer(), made.Expires()
	if sc.expired(f.cfg.Now()) {
		return &StatusError{Major: CredentialsExpired, Err: errExpired}
	}
	var m message
	m.begin(made, None, windowLen)
	mic, err := m.appendMIC(nil, m.number[:])
	if err != nil {
		return err
	}
	a.Verifier = oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: mic}
	return nil
}
