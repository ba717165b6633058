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

// This flavour uses a secret shared by caller and server. The credential is the caller's name. The
// verifier of a call is an HMAC of the whole call, and that of the reply an HMAC of the call's.
// Results end with an HMAC. Nothing is encrypted, and there is no protection against replay;
// sequence numbers would add that (RFC 2203 section 5.3.3.1).

// flavorSecret is a number that a local administrator may assign (RFC 5531 section 13.3.2).
const flavorSecret oncrpc.AuthFlavor = 0x20000001

var errForged = errors.New("reply was not made by who knows the secret")

// sum returns the HMAC of parts. The word what keeps HMACs for different purposes apart.
func sum(secret []byte, what string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(what))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// signer is the client's flavour.
type signer struct {
	name   string
	secret []byte
}

func (s *signer) Flavor() oncrpc.AuthFlavor { return flavorSecret }

// Ready has nothing to do.
func (s *signer) Ready(context.Context, *oncrpc.Client) error { return nil }

// Slack returns the room for the verifier's body and for what Wrap adds.
func (s *signer) Slack() int { return sha256.Size + sha256.Size }

// AllowsPlacement returns false because the HMAC covers all data.
func (s *signer) AllowsPlacement() bool { return false }

// Seal appends credential, verifier and arguments. The verifier covers all of them and the header.
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

// signed is one call at either end.
type signed struct{ secret, verifier []byte }

// Verify checks the verifier of the reply.
func (s *signed) Verify(verf *oncrpc.Auth) error {
	if !hmac.Equal(verf.Body, sum(s.secret, "reply", s.verifier)) {
		return errForged
	}
	return nil
}

// Wrap appends the results and their HMAC.
func (s *signed) Wrap(e *xdr.Encoder, results *xdr.Message) error {
	body := results.AppendTo(nil)
	e.Raw(body)
	e.Raw(sum(s.secret, "results", s.verifier, body))
	return nil
}

// Open checks the HMAC and leaves the results.
func (s *signed) Open(results *xdr.Decoder) error {
	all := results.Raw(results.Remaining())
	n := len(all) - sha256.Size
	if n < 0 || !hmac.Equal(all[n:], sum(s.secret, "results", s.verifier, all[:n])) {
		return errForged
	}
	results.Reset(all[:n], nil)
	return nil
}

// RetryDenied has no other credential to try.
func (s *signed) RetryDenied(*oncrpc.AuthError) bool { return false }

// secrets is the server's flavour: the secret of each caller.
type secrets map[string][]byte

func (s secrets) Flavor() oncrpc.AuthFlavor { return flavorSecret }

// Accept checks that the caller knows the secret. It does not reveal whether the caller exists.
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

// say returns its argument with the caller's name.
func say(_ context.Context, c *oncrpc.Call) error {
	c.Results.String(fmt.Sprintf("%v says %s", c.Identity(), c.Args.String(50)), 100)
	return nil
}

// Implement both sides of a flavour: caller and server prove that they know a secret.
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
