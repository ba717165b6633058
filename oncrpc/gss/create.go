package gss

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// noContext is what a client is told whose context is not being made (RFC 2203 appendix A).
const noContext Major = 0x00080000 // GSS_S_NO_CONTEXT

// Why contexts are not made, for the log and in answers.
var (
	errNotBegun = errors.New("context is not being made: its time is over, or it never was")
	errRounds   = errors.New("context takes too many tokens")
	errBusy     = errors.New("too many contexts are being made")
)

// create answers a call that makes a context, or goes on with it (RFC 2203 section 5.2). Neither
// RPCSEC_GSS_CREDPROBLEM nor RPCSEC_GSS_CTXPROBLEM are answers to such calls.
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
		f.stats.garbageBodies.Add(1)
		return oncrpc.ErrGarbageArgs
	}
	res, principal, err := f.negotiate(ctx, a, cred, token)
	peer := a.Conn().RemoteAddr()
	switch {
	case err != nil:
		f.stats.refused.Add(1)
		res = statusOf(err)
		f.faults.Fault(peer, "gss: context refused", res.major, "err", err)
	case res.major == Complete:
		f.stats.made.Add(1)
		f.arrivals.Event(peer, "gss: context made", principal, "principal", principal)
	}
	res.MarshalXDR(a.BeginAnswer())
	return nil
}

// statusOf returns what a client is told of an error: a status, and neither handle nor token (RFC
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

// negotiate looks at a token. It sets the verifier of the answer.
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

// made makes a context of one that was being made, and the verifier that says so: the checksum of
// the window's length.
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
