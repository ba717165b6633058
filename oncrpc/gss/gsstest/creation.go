package gsstest

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// firstToken returns the first token of a new context.
func firstToken(t *testing.T, i gss.Initiator, target string) []byte {
	t.Helper()
	n, err := i.Initiate(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := n.Step(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// refused checks that an answer refuses a context (RFC 2203 section 5.2.3.1).
func refused(t *testing.T, c *created) {
	t.Helper()
	if c.major <= 1 || len(c.handle) > 0 || len(c.token) > 0 || c.verf != 0 || len(c.mic) > 0 {
		t.Errorf("refused by %+v", c)
	}
}

// testTruncatedToken checks that each truncation of a token is refused.
func testTruncatedToken(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	token := firstToken(t, e.Initiator, e.Target)
	c := newConn(1)
	for n := range token {
		refused(t, decodeCreated(t, s.answers(c, creation(&cred{version: 1, proc: 1}, token[:n]))))
	}
	if got := s.flavor.Stats(); got.Refused != uint64(len(token)) || got.Contexts+got.HalfMade != 0 {
		t.Errorf("%+v", got)
	}
}

// testFlippedToken flips a bit of each byte of a token. The mechanism decides which bytes it
// protects; each refusal must have the right form.
func testFlippedToken(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	token := firstToken(t, e.Initiator, e.Target)
	c := newConn(1)
	no := 0
	for i := range token {
		token[i] ^= 1 << (i % 8)
		res := decodeCreated(t, s.answers(c, creation(&cred{version: 1, proc: 1}, token)))
		if res.major > 1 {
			refused(t, res)
			no++
		}
		token[i] ^= 1 << (i % 8)
	}
	if no < len(token)/2 {
		t.Errorf("%d of %d bytes are flipped, and %d noticed", len(token), len(token), no)
	}
}

// testStranger checks that unknown principals are refused.
func testStranger(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	token := firstToken(t, e.Stranger, e.Target)
	refused(t, decodeCreated(t, s.answers(newConn(1), creation(&cred{version: 1, proc: 1}, token))))
	if got := s.flavor.Stats(); got != (gss.ServerStats{Refused: 1}) {
		t.Errorf("%+v", got)
	}
	// The client sees the refusal.
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: e.Stranger, Target: e.Target})
	err := client(&played{conn: newConn(1), s: s}, f).Call(t.Context(), procEcho, nil, nil)
	if op, ok := asError[*gss.OpError](err); !ok || op.Target != e.Target || op.Peer == nil {
		t.Errorf("got %v", err)
	}
	if status, ok := asError[*gss.StatusError](err); !ok || status.Major < 2 {
		t.Errorf("got %v", err)
	}
}

// testCreation sends malformed requests to create a context.
func testCreation(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	none := word(nil, 0, 0)
	good := cred{version: 1, proc: 1}
	token := appendOpaque(nil, firstToken(t, e.Initiator, e.Target))
	call := func(procedure uint32, body, verf, args []byte) []byte {
		return append(append(header(1, procedure, body), verf...), args...)
	}
	for _, tt := range []struct {
		name string
		call []byte
		want string
	}{
		{"verifier", call(0, good.body(), word(nil, 6, 0), token), "AUTH_BADVERF"},
		{"verifier with a body", call(0, good.body(), word(nil, 0, 4, 1), token), "AUTH_BADVERF"},
		{"handle", call(0, (&cred{version: 1, proc: 1, handle: []byte("1234")}).body(), none, token), "AUTH_BADCRED"},
		{"version 0", call(0, (&cred{version: 0, proc: 1}).body(), none, token), "AUTH_REJECTEDCRED"},
		{"version 2", call(0, (&cred{version: 2, proc: 1}).body(), none, token), "AUTH_REJECTEDCRED"},
		{"version 2, continued", call(0, (&cred{version: 2, proc: 2}).body(), none, token), "AUTH_REJECTEDCRED"},
		{"version 2, otherwise than we know", call(0, word(nil, 2, 1), none, token), "AUTH_REJECTEDCRED"},
		{"version 2, data", call(0, (&cred{version: 2}).body(), none, token), "AUTH_BADCRED"},
		{"version 2, BIND_CHANNEL", call(0, (&cred{version: 2, proc: 4}).body(), none, token), "AUTH_BADCRED"},
		{"BIND_CHANNEL", call(0, (&cred{version: 1, proc: 4, service: 1}).body(), none, token), "AUTH_BADCRED"},
		{
			"control procedure of its own",
			call(0, (&cred{version: 1, proc: 1 << 31, service: 1}).body(), none, token), "AUTH_BADCRED",
		},
		{"procedure 1", call(1, good.body(), none, token), "AUTH_BADCRED"},
		{"empty credential", call(0, nil, none, token), "AUTH_BADCRED"},
		{"short credential", call(0, good.body()[:16], none, token), "AUTH_BADCRED"},
		{"long credential", call(0, append(good.body(), 0, 0, 0, 0), none, token), "AUTH_BADCRED"},
		{"no token", call(0, good.body(), none, nil), "GARBAGE_ARGS without verifier"},
		{"short token", call(0, good.body(), none, token[:len(token)-4]), "GARBAGE_ARGS without verifier"},
		{
			"more than a token",
			call(0, good.body(), none, append(bytes.Clone(token), 0, 0, 0, 0)), "GARBAGE_ARGS without verifier",
		},
		{
			"token of 64 KiB and a byte",
			call(0, good.body(), none, appendOpaque(nil, make([]byte, 64<<10+1))), "GARBAGE_ARGS without verifier",
		},
		{
			"unknown context",
			call(0, (&cred{version: 1, proc: 3, service: 1, handle: make([]byte, 16)}).body(), none, nil),
			"RPCSEC_GSS_CREDPROBLEM",
		},
		{"no context", call(0, (&cred{version: 1, proc: 0, service: 1}).body(), none, nil), "RPCSEC_GSS_CREDPROBLEM"},
		{
			"unknown service",
			call(0, (&cred{version: 1, proc: 0, service: 4, handle: make([]byte, 16)}).body(), none, nil),
			"AUTH_BADCRED",
		},
		{
			"service 0",
			call(0, (&cred{version: 1, proc: 0, service: 0, handle: make([]byte, 16)}).body(), none, nil),
			"AUTH_BADCRED",
		},
	} {
		if got := outcome(s.answers(newConn(1), tt.call)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// The answer must be GSS_S_NO_CONTEXT, because the denials with that meaning are not for
	// creation (RFC 2203 section 5.2.3.2).
	for _, h := range [][]byte{nil, make([]byte, 16)} {
		res := decodeCreated(t, s.answers(newConn(1), creation(&cred{version: 1, proc: 2, handle: h}, nil)))
		if refused(t, res); res.major != 0x00080000 {
			t.Errorf("context that is not being made: major 0x%x", res.major)
		}
	}
	if got := s.flavor.Stats(); got.Contexts+got.HalfMade != 0 || got.Made != 0 {
		t.Errorf("%+v", got)
	}
	// The sequence number, service and program of a creation request have no meaning.
	n, err := e.Initiator.Initiate(t.Context(), e.Target)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := n.Step(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := creation(&cred{version: 1, proc: 1, seq: 1 << 31, service: 99}, first)
	b[15]++ // program
	if res := decodeCreated(t, s.answers(newConn(1), b)); res.major > 1 || len(res.handle) == 0 {
		t.Errorf("context of a program that is not there: %+v", res)
	}
}

// client returns a client of the suite's program.
func client(t oncrpc.Transport, f oncrpc.ClientFlavor) *oncrpc.Client {
	return oncrpc.NewClient(t, program, version, f)
}
