package oncrpc_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A flavour in which caller and server share a secret. The credential is the caller's name. The
// verifier of a call is an HMAC of all of it, that of the reply an HMAC of the call's, and results
// have an HMAC behind them. Nothing is encrypted, and a call that was overheard can be made once
// more: against that there are sequence numbers (RFC 2203 section 5.3.3.1).

// flavorSecret is one of the numbers that a local administrator assigns (RFC 5531 section 13.3.2).
const flavorSecret oncrpc.AuthFlavor = 0x20000001

var errForged = errors.New("reply was not made by who knows the secret")

// sum returns the HMAC of parts. What tells what they are, so that none passes for another.
func sum(secret []byte, what string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(what))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// signer is the flavour of a client.
type signer struct {
	name   string
	secret []byte
}

func (s *signer) Flavor() oncrpc.AuthFlavor { return flavorSecret }

// Ready has nothing to prepare.
func (s *signer) Ready(context.Context, *oncrpc.Client) error { return nil }

// Slack is the body of the verifier, and what Wrap adds to the results.
func (s *signer) Slack() int { return sha256.Size + sha256.Size }

// AllowsPlacement is false, as the HMAC is of all data.
func (s *signer) AllowsPlacement() bool { return false }

// Seal appends credential, verifier and arguments. What e holds then is header and credential.
func (s *signer) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	e.Uint32(uint32(flavorSecret))
	e.Opaque([]byte(s.name), oncrpc.MaxAuthBody)
	body := args.AppendTo(nil)
	call := &signed{s.secret, sum(s.secret, "call", e.Message().Inline, body)}
	e.Uint32(uint32(flavorSecret))
	e.Opaque(call.verifier, oncrpc.MaxAuthBody)
	e.Raw(body)
	return call, nil
}

// signed is one call, on either side.
type signed struct{ secret, verifier []byte }

// Verify checks the verifier of the reply.
func (s *signed) Verify(verf *oncrpc.Auth) error {
	if !hmac.Equal(verf.Body, sum(s.secret, "reply", s.verifier)) {
		return errForged
	}
	return nil
}

// Wrap appends the results, and their HMAC.
func (s *signed) Wrap(e *xdr.Encoder, results *xdr.Message) error {
	body := results.AppendTo(nil)
	e.Raw(body)
	e.Raw(sum(s.secret, "results", s.verifier, body))
	return nil
}

// Open checks what Wrap has appended, and leaves the results.
func (s *signed) Open(results *xdr.Decoder) error {
	all := results.Raw(results.Remaining())
	n := len(all) - sha256.Size
	if n < 0 || !hmac.Equal(all[n:], sum(s.secret, "results", s.verifier, all[:n])) {
		return errForged
	}
	results.Reset(all[:n], nil)
	return nil
}

// RetryDenied has nothing to try once more.
func (s *signed) RetryDenied(*oncrpc.AuthError) bool { return false }

// secrets is the flavour of a server: the secrets by caller.
type secrets map[string][]byte

func (s secrets) Flavor() oncrpc.AuthFlavor { return flavorSecret }

// Accept finds out whether the caller knows his secret, and does not tell whether there is one.
func (s secrets) Accept(_ context.Context, a *oncrpc.Acceptance) error {
	h, args := a.Header(), a.Args()
	name := string(h.Cred.Body)
	secret, known := s[name]
	var e xdr.Encoder
	h.EncodeToCred(&e)
	body := args.Raw(args.Remaining())
	call := &signed{secret, sum(secret, "call", e.Message().Inline, body)}
	if !known || !hmac.Equal(h.Verf.Body, call.verifier) {
		return &oncrpc.AuthError{Stat: oncrpc.AuthBadCred}
	}
	args.Reset(body, nil)
	a.Identity, a.Wrapper = userName(name), call
	a.Verifier = oncrpc.Auth{Flavor: flavorSecret, Body: sum(secret, "reply", call.verifier)}
	return nil
}

// userName is an identity.
type userName string

func (n userName) AppendKey(b []byte) []byte { return append(b, n...) }
func (n userName) String() string            { return string(n) }

// line is an argument and a result: string line<100>.
type line string

func (l line) MarshalXDR(e *xdr.Encoder)    { e.String(string(l), 100) }
func (l *line) UnmarshalXDR(d *xdr.Decoder) { *l = line(d.String(100)) }

// say returns who has said what.
func say(_ context.Context, c *oncrpc.Call) error {
	c.Results.String(fmt.Sprintf("%v says %s", c.Identity(), c.Args.String(50)), 100)
	return nil
}

// A flavour of one's own, both sides of it: callers prove that they know a secret, and so does the
// server.
func ExampleServerFlavor() {
	ctx := context.Background()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Flavors: []oncrpc.ServerFlavor{secrets{"alice": []byte("open sesame")}},
	})
	err := srv.Handle(oncrpc.Program{Number: 400000, Version: 1,
		Procedures: []oncrpc.Procedure{1: {Handler: say}}})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go recordmark.Serve(ctx, l, srv, recordmark.Config{})
	defer srv.Shutdown(ctx)

	conn, err := recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for _, who := range []*signer{
		{"alice", []byte("open sesame")},
		{"alice", []byte("open barley")},
		{"bob", nil},
	} {
		var said line
		err := oncrpc.NewClient(conn, 400000, 1, who).Call(ctx, 1, line("hello"), &said)
		var denied *oncrpc.AuthError
		if errors.As(err, &denied) {
			fmt.Println(denied)
		} else {
			fmt.Println(said, err)
		}
	}
	// Output:
	// alice says hello <nil>
	// denied: AUTH_BADCRED
	// denied: AUTH_BADCRED
}
