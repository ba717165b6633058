package recordmark_test

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// tlsRig is a server with TLS. Its procedure 1 returns the client's name, and 2 is echo.
type tlsRig struct {
	t      *testing.T
	addr   string
	client *tls.Config
	cert   tls.Certificate
}

// newTLSRig starts a server. change, if not nil, changes its configuration.
func newTLSRig(t *testing.T, change func(*recordmark.Config)) *tlsRig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newTLSRigAt(t, l, change)
}

func newTLSRigAt(t *testing.T, l net.Listener, change func(*recordmark.Config)) *tlsRig {
	t.Helper()
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	serverTLS := certs.Server()
	serverTLS.ClientAuth = tls.VerifyClientCertIfGiven
	cfg := recordmark.Config{TLS: serverTLS, Logger: quiet}
	if change != nil {
		change(&cfg)
	}
	srv := server(t, whoami, echo)
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, srv, cfg) }()
	t.Cleanup(func() {
		srv.Close()
		hang.Receive(t, "the end of the server", served)
	})
	return &tlsRig{t, l.Addr().String(), certs.Client(), certs.ClientCert}
}

// whoami returns the name in the client's certificate. It fails if the call's origin has a name
// that nobody has proved, or lacks one.
func whoami(_ context.Context, c *oncrpc.Call) error {
	state, ok := c.Conn.(*recordmark.Conn).TLS()
	proved := ""
	if len(state.VerifiedChains) > 0 {
		proved = state.PeerCertificates[0].Subject.String()
	}
	if got := c.Origin().Principal(); got != proved {
		return fmt.Errorf("the origin's principal is %q, want %q", got, proved)
	}
	name := "in the clear"
	switch {
	case ok && len(state.PeerCertificates) > 0:
		name = state.PeerCertificates[0].Subject.CommonName
	case ok:
		name = "anonymous"
	}
	c.Results.BulkBytes([]byte(name), nil)
	return nil
}

// dial connects with TLS, and closes the connection when the test ends.
func (r *tlsRig) dial(cfg *tls.Config) (*recordmark.Conn, error) {
	r.t.Helper()
	return dialTLS(r.t, r.t.Context(), r.addr, testProgram, testVersion, cfg)
}

func dialTLS(t *testing.T, ctx context.Context, addr string, program, version uint32,
	cfg *tls.Config) (*recordmark.Conn, error) {
	t.Helper()
	c, err := recordmark.Dial(t.Context(), addr, recordmark.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
	})
	return c, c.RequestTLS(ctx, program, version, cfg)
}

// who asks the server for the client's name.
func who(t *testing.T, c *recordmark.Conn) (string, error) {
	t.Helper()
	got := blob{make([]byte, 100)}
	err := client(c).Call(t.Context(), 1, nil, &got)
	return string(got.p), err
}

// raw connects without TLS.
func (r *tlsRig) raw() rawPeer {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(hang.Patience))
	return rawPeer{r.t, conn}
}

// exchange writes bytes and checks the bytes that come back.
func (p rawPeer) exchange(call, reply string) {
	p.t.Helper()
	if _, err := p.Write(unhex(p.t, call)); err != nil {
		p.t.Fatal(err)
	}
	if got := hex.EncodeToString(p.bytes(len(reply) / 2)); got != reply {
		p.t.Errorf("reply\n got %s\nwant %s", got, reply)
	}
}

// ends waits for the end of the connection and returns the bytes before it.
func (p rawPeer) ends() []byte {
	p.t.Helper()
	rest, err := io.ReadAll(p)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Error("the connection does not end")
	}
	return rest
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
