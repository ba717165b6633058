package gss

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// initArg is rpc_gss_init_arg (RFC 2203 section 5.2.2).
type initArg struct{ token []byte }

func (a *initArg) MarshalXDR(e *xdr.Encoder) { e.Opaque(a.token, maxBody) }

// initRes is rpc_gss_init_res (RFC 2203 section 5.2.3.1).
type initRes struct {
	handle []byte
	major  Major
	minor  uint32
	window uint32
	token  []byte
}

// initResMax is the length in bytes of the longest initRes that a client accepts.
const initResMax = 4 + maxHandle + 4 + 4 + 4 + 4 + maxToken

func (r *initRes) MarshalXDR(e *xdr.Encoder) {
	e.Opaque(r.handle, maxHandle)
	e.Uint32(uint32(r.major))
	e.Uint32(r.minor)
	e.Uint32(r.window)
	e.Opaque(r.token, maxBody)
}

func (r *initRes) UnmarshalXDR(d *xdr.Decoder) {
	r.handle = bytes.Clone(d.Opaque(maxHandle))
	r.major = Major(d.Uint32())
	r.minor = d.Uint32()
	r.window = d.Uint32()
	r.token = bytes.Clone(d.Opaque(maxToken))
}

var (
	errVerifier = errors.New("verifier is not from the server")
	errReply    = errors.New("unexpected reply")
)

// initCall is the flavour of a call that begins or continues the creation of a context.
type initCall struct {
	credential
	verifier oncrpc.Auth // of the reply
}

func (c *initCall) Flavor() oncrpc.AuthFlavor                   { return oncrpc.FlavorGSS }
func (c *initCall) Ready(context.Context, *oncrpc.Client) error { return nil }
func (c *initCall) Slack() int                                  { return oncrpc.MaxAuthBody }
func (c *initCall) AllowsPlacement() bool                       { return false }
func (c *initCall) Open(*xdr.Decoder) error                     { return nil }
func (c *initCall) RetryDenied(*oncrpc.AuthError) bool          { return false }

// Seal appends the credential, the verifier that all creation requests have, and the token (RFC
// 2203 section 5.2.2). The token is never moved by RDMA on its own (RFC 8166 section 8.2.2).
func (c *initCall) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	c.encode(e)
	e.Uint32(uint32(oncrpc.FlavorNone))
	e.Uint32(0)
	e.Append(args)
	return c, nil
}

// Verify keeps the verifier, which is checked when the context is complete.
func (c *initCall) Verify(verf *oncrpc.Auth) error {
	c.verifier = oncrpc.Auth{Flavor: verf.Flavor, Body: bytes.Clone(verf.Body)}
	return nil
}

// negotiate creates a context with the server of c (RFC 2203 section 5.2).
func negotiate(ctx context.Context, c *oncrpc.Client, cfg *ClientConfig) (*clientContext, error) {
	n, err := cfg.Initiator.Initiate(ctx, cfg.Target)
	if err != nil {
		return nil, err
	}
	token, made, err := n.Step(ctx, nil)
	call := &initCall{credential: credential{version1, procInit, 0, cfg.Service, nil}}
	var res initRes
	for range maxRounds {
		if err != nil {
			return nil, err
		}
		res = initRes{}
		if err := call.do(ctx, c, token, &res); err != nil {
			return nil, explained(n, err)
		}
		if res.major != Complete && made != nil {
			return nil, fmt.Errorf("%w: context is complete here, but the server says %v", errReply,
				res.major)
		}
		if res.major == Complete && made == nil || res.major == ContinueNeeded {
			token, made, err = n.Step(ctx, res.token)
			if err != nil {
				return nil, err
			}
		}
		if res.major == Complete {
			return agreed(made, call, &res, cfg.Service)
		}
		call.handle, call.procedure = res.handle, procContinueInit
	}
	return nil, fmt.Errorf("%w: context is not complete after %d rounds", errReply, maxRounds)
}

// explained returns err in the words of the mechanism if the server refused the context.
func explained(n Negotiation, err error) error {
	var refusal *StatusError
	if e, ok := n.(Explainer); ok && errors.As(err, &refusal) {
		return fmt.Errorf("refused: %w", e.Explain(refusal))
	}
	return err
}

// maxRounds is the maximum number of calls to create a context.
const maxRounds = 10

// do sends a token and receives the answer.
func (c *initCall) do(ctx context.Context, client *oncrpc.Client, token []byte,
	res *initRes) error {
	program, version := client.Program()
	err := oncrpc.NewClient(client.Transport(), program, version, c).Do(ctx, &oncrpc.Request{
		Args: &initArg{token}, Reply: res, MaxReply: initResMax,
	})
	switch {
	case err != nil:
		return err
	case res.major != Complete && res.major != ContinueNeeded:
		return fmt.Errorf("refused: %w", &StatusError{Major: res.major, Minor: res.minor})
	case len(res.handle) == 0:
		return fmt.Errorf("%w: context has no handle", errReply)
	case c.procedure == procContinueInit && !bytes.Equal(res.handle, c.handle):
		return fmt.Errorf("%w: handle has changed", errReply)
	}
	return nil
}

// agreed returns the context that both ends have completed. It checks the verifier, the checksum of
// the window's length (RFC 2203 section 5.2.3.1).
func agreed(made Context, call *initCall, res *initRes, s Service) (*clientContext, error) {
	switch {
	case made == nil:
		return nil, fmt.Errorf("%w: context is complete at the server, but not here", errReply)
	case res.window == 0:
		return nil, fmt.Errorf("%w: the window allows no calls", errReply)
	case call.verifier.Flavor != oncrpc.FlavorGSS:
		return nil, errVerifier
	}
	var m message
	m.begin(made, s, res.window)
	if err := m.verifyMIC(call.verifier.Body, m.number[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errVerifier, err)
	}
	window := int(min(res.window, maxSeq-1))
	return &clientContext{Context: made, handle: res.handle, window: window}, nil
}
