//go:build interop

package openssl

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is when a hanging command is killed.
const limit = 30 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// Messages on the wire, written by hand: RFC 5531 sections 9 and 11, RFC 9289 section 4.1.
const (
	// A call of procedure 0 of program 100003 version 3 with the flavour AUTH_TLS (7).
	askForTLS = "80000028" + "00000001" + "00000000" + "00000002" + "000186a3" + "00000003" + "00000000" +
		"00000007" + "00000000" + "00000000" + "00000000"
	// Its reply: accepted, a verifier AUTH_NONE of the 8 bytes STARTTLS, SUCCESS.
	startTLS = "80000020" + "00000001" + "00000001" + "00000000" +
		"00000000" + "00000008" + "5354415254544c53" + "00000000"
	// A call of procedure 0 with AUTH_NONE, and its reply.
	callNull = "80000028" + "00000002" + "00000000" + "00000002" + "000186a3" + "00000003" + "00000000" +
		"00000000" + "00000000" + "00000000" + "00000000"
	replyNull = "80000018" + "00000002" + "00000001" + "00000000" + "00000000" + "00000000" + "00000000"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// certificates writes certificates to a directory, and returns both.
func certificates(t *testing.T) (*testcert.Certs, string) {
	t.Helper()
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Files(dir); err != nil {
		t.Fatal(err)
	}
	return certs, dir
}

// listen listens on 127.0.0.1 until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// exchange sends one message and expects another.
func exchange(t *testing.T, conn net.Conn, send, want []byte) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(limit))
	defer conn.SetDeadline(time.Time{})
	if _, err := conn.Write(send); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v; want %x", got, err, want)
	}
}

// splice copies both ways until both have ended.
func splice(a, b net.Conn) {
	done := make(chan struct{})
	one := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
		done <- struct{}{}
	}
	go one(a, b)
	go one(b, a)
	<-done
	<-done
	a.Close()
	b.Close()
}

// TestServer has openssl s_client speak TLS with our server, accept its certificate, and make a
// call.
func TestServer(t *testing.T) {
	certs, dir := certificates(t)
	names := make(chan string, 1)
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	err := srv.Handle(oncrpc.Program{Number: 100003, Version: 3, Procedures: []oncrpc.Procedure{
		0: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			if state, ok := c.Conn.(*recordmark.Conn).TLS(); ok {
				names <- state.PeerCertificates[0].Subject.CommonName
			}
			return nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := certs.Server()
	server.ClientAuth = tls.RequireAndVerifyClientCert
	l := listen(t)
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(t.Context(), l, srv, recordmark.Config{TLS: server, Logger: quiet})
	}()
	defer func() {
		srv.Close()
		<-served
	}()

	relay := listen(t)
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		from, err := relay.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		to, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
			from.Close()
			return
		}
		exchange(t, to, unhex(t, askForTLS), unhex(t, startTLS))
		splice(from, to)
	}()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "openssl", "s_client", "-connect", relay.Addr().String(),
		"-alpn", "sunrpc", "-tls1_3", "-CAfile", filepath.Join(dir, "ca.pem"), "-verify_return_error",
		"-cert", filepath.Join(dir, "client.pem"), "-key", filepath.Join(dir, "client.key"),
		"-brief", "-nocommands", "-ign_eof")
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(unhex(t, callNull)); err != nil {
		t.Error(err)
	}
	want := unhex(t, replyNull)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(out, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the reply is %x, %v; want %x", got, err, want)
	}
	select {
	case name := <-names:
		if name != testcert.ClientName {
			t.Errorf("the server sees %q", name)
		}
	default:
		t.Error("the server sees no certificate")
	}
	in.Close()
	srv.Close() // with which s_client ends
	_ = cmd.Wait()
	<-relayed
	for _, want := range []string{"TLSv1.3", "Verification: OK"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("openssl does not say %q:\n%s", want, &said)
		}
	}
}

// TestServerALPN: without the protocol's name there is no TLS (RFC 9289 section 7.2).
func TestServerALPN(t *testing.T) {
	certs, dir := certificates(t)
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	if err := srv.Handle(oncrpc.Program{Number: 100003, Version: 3}); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(t.Context(), l, srv, recordmark.Config{TLS: certs.Server(), Logger: quiet})
	}()
	defer func() {
		srv.Close()
		<-served
	}()
	for _, alpn := range [][]string{nil, {"-alpn", "h2"}} {
		relay := listen(t)
		relayed := make(chan struct{})
		go func() {
			defer close(relayed)
			from, err := relay.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				from.Close()
				return
			}
			exchange(t, to, unhex(t, askForTLS), unhex(t, startTLS))
			splice(from, to)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		cmd := exec.CommandContext(ctx, "openssl", append([]string{"s_client", "-connect",
			relay.Addr().String(), "-tls1_3", "-CAfile", filepath.Join(dir, "ca.pem"), "-ign_eof"}, alpn...)...)
		cmd.Stdin = bytes.NewReader(unhex(t, callNull))
		out, _ := cmd.CombinedOutput() // that the other side has ended it
		if bytes.Contains(out, unhex(t, replyNull)) {
			t.Errorf("with %q the server answers:\n%s", alpn, out)
		}
		cancel()
		<-relayed
	}
}

// TestClient has our client ask openssl s_server for TLS, and show its certificate.
func TestClient(t *testing.T) {
	certs, dir := certificates(t)
	free := listen(t)
	at := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "openssl", "s_server", "-accept", at, "-alpn", "sunrpc", "-tls1_3",
		"-cert", filepath.Join(dir, "server.pem"), "-key", filepath.Join(dir, "server.key"),
		"-CAfile", filepath.Join(dir, "ca.pem"), "-Verify", "1", "-verify_return_error",
		"-quiet", "-naccept", "1")
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	relay := listen(t)
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		from, err := relay.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		ask := make([]byte, len(askForTLS)/2)
		_, err = io.ReadFull(from, ask)
		want := unhex(t, askForTLS)
		copy(want[4:8], ask[4:8]) // the transaction id
		if err != nil || !bytes.Equal(ask, want) {
			t.Errorf("the client asks with %x, %v; want %x", ask, err, want)
		}
		answer := unhex(t, startTLS)
		copy(answer[4:8], ask[4:8])
		if _, err := from.Write(answer); err != nil {
			t.Error(err)
		}
		var to net.Conn
		for { // until it listens
			if to, err = net.Dial("tcp", at); err == nil || ctx.Err() != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
			from.Close()
			return
		}
		splice(from, to)
	}()
	conn, err := recordmark.Dial(ctx, relay.Addr().String(), recordmark.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	cfg := certs.Client()
	cfg.Certificates = append(cfg.Certificates, certs.ClientCert)
	if err := conn.RequestTLS(ctx, 100003, 3, cfg); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	called := make(chan error, 1)
	go func() {
		called <- oncrpc.NewClient(conn, 100003, 3, oncrpc.AuthNone()).Call(ctx, 0, nil, nil)
	}()
	call, want := make([]byte, len(callNull)/2), unhex(t, callNull)
	_, err = io.ReadFull(out, call)
	copy(want[4:8], call[4:8])
	if err != nil || !bytes.Equal(call, want) {
		t.Errorf("through TLS comes %x, %v; want %x", call, err, want)
	}
	answer := unhex(t, replyNull)
	copy(answer[4:8], call[4:8])
	if _, err := in.Write(answer); err != nil {
		t.Error(err)
	}
	if err := <-called; err != nil {
		t.Error(err)
	}
	conn.Close()
	<-conn.Done()
	in.Close()
	<-relayed
	cancel()
	_ = cmd.Wait()
}
