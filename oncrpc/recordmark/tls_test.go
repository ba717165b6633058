package recordmark_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// A handler sees whether the connection uses TLS, and the client's certificate.
func TestTLS(t *testing.T) {
	r := newTLSRig(t, nil)
	withCert := r.client.Clone()
	withCert.Certificates = []tls.Certificate{r.cert}
	for _, tt := range []struct {
		name string
		cfg  *tls.Config
		want string
	}{
		{"without a certificate", r.client, "anonymous"},
		{"with one", withCert, testcert.ClientName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := r.dial(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := who(t, c); got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			state, ok := c.TLS()
			if !ok || state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "sunrpc" {
				t.Errorf("TLS: %t, version %#x, protocol %q", ok, state.Version, state.NegotiatedProtocol)
			}
			if got := state.PeerCertificates[0].Subject.CommonName; got != "server.test" {
				t.Errorf("the server is %q", got)
			}
		})
	}
	c, err := recordmark.Dial(t.Context(), r.addr, recordmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := who(t, c); got != "in the clear" || err != nil {
		t.Errorf("without TLS: got %q, %v", got, err)
	}
	if _, ok := c.TLS(); ok {
		t.Error("there is TLS that nobody has asked for")
	}
}

// Many concurrent calls over TLS, with data of all sizes.
func TestTLSBulk(t *testing.T) {
	c, err := newTLSRig(t, nil).dial(newTLSRig(t, nil).client)
	if err == nil {
		t.Error("a server of another authority is believed")
	}
	r := newTLSRig(t, nil)
	if c, err = r.dial(r.client); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			want := bytes.Repeat([]byte{byte(i)}, 1<<i)
			got := blob{make([]byte, len(want))}
			if err := client(c).Call(t.Context(), 2, data(want), &got); err != nil || !bytes.Equal(got.p, want) {
				t.Errorf("%d bytes: %d, %v", len(want), len(got.p), err)
			}
		})
	}
	calls.Wait()
}

// A client's request for TLS, and the reply of a server that has it (RFC 9289 section 4.1).
const (
	tlsCall  = "80000028" + "12345678" + "00000000" + "00000002" + "20000002" + "00000003" + "00000000" + "0000000700000000" + "0000000000000000"
	tlsReply = "80000020" + "12345678" + "00000001" + "00000000" + "00000000" + "00000008" + "5354415254544c53" + "00000000"
	// MSG_DENIED, AUTH_ERROR, AUTH_BADCRED
	tlsNot = "80000014" + "12345678" + "00000001" + "00000001" + "00000001" + "00000001"
)

// The client is scripted byte by byte, except for TLS.
func TestTLSGolden(t *testing.T) {
	r := newTLSRig(t, nil)
	p := r.raw()
	plain := strings.Replace(tlsCall, "0000000700000000", "0000000000000000", 1)
	p.exchange(plain, "80000018"+"12345678"+"00000001"+"00000000"+"0000000000000000"+"00000000")
	p.exchange(tlsCall, tlsReply)
	cfg := r.client.Clone()
	cfg.ServerName, cfg.NextProtos = "127.0.0.1", []string{"sunrpc"}
	secured := tls.Client(p.Conn, cfg)
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	// TLS within TLS is refused, and the connection goes on.
	inside := rawPeer{t, secured}
	inside.exchange(tlsCall, tlsNot)
	c := newConn(t, secured, recordmark.Config{})
	defer c.Close()
	if got, err := who(t, c); got != "anonymous" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Malformed requests for TLS, and requests that cannot be met, are answered AUTH_BADCRED, and the
// connection goes on.
func TestTLSRefused(t *testing.T) {
	r := newTLSRig(t, nil)
	without := newTLSRig(t, func(cfg *recordmark.Config) { cfg.TLS = nil })
	for _, tt := range []struct {
		name string
		rig  *tlsRig
		call string
	}{
		{"procedure 1", r, strings.Replace(tlsCall, "00000003"+"00000000", "00000003"+"00000001", 1)},
		{"a credential with a body", r, strings.Replace(strings.Replace(tlsCall, "80000028", "8000002c", 1),
			"0000000700000000", "000000070000000400000000", 1)},
		{"a verifier", r, strings.TrimSuffix(tlsCall, "0000000000000000") + "0000000100000000"},
		{"no TLS", without, tlsCall},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.rig.raw()
			p.exchange(tt.call, tlsNot)
			p.exchange(tt.call, tlsNot)
		})
	}
	if _, err := without.dial(r.client); !errors.Is(err, recordmark.ErrNoTLS) {
		t.Errorf("RequestTLS: got error %v, want %v", err, recordmark.ErrNoTLS)
	}
}

// The server agrees to TLS whatever the program.
func TestTLSAnyProgram(t *testing.T) {
	r := newTLSRig(t, nil)
	c, err := dialTLS(t, t.Context(), r.addr, 1, 2, r.client)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := who(t, c); got != "anonymous" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Anything but a handshake that conforms to RFC 9289 section 5 ends the connection. Unprotected
// calls after the request are not answered.
func TestTLSEnds(t *testing.T) {
	var counters recordmark.Counters
	r := newTLSRig(t, func(cfg *recordmark.Config) { cfg.Counters = &counters })
	handshake := func(change func(*tls.Config)) func(*testing.T, rawPeer) {
		return func(t *testing.T, p rawPeer) {
			p.exchange(tlsCall, tlsReply)
			cfg := r.client.Clone()
			cfg.ServerName, cfg.NextProtos = "127.0.0.1", []string{"sunrpc"}
			change(cfg)
			tls.Client(p.Conn, cfg).Handshake() // it may succeed at this end
			p.ends()
		}
	}
	for name, f := range map[string]func(*testing.T, rawPeer){
		"no ALPN":      handshake(func(cfg *tls.Config) { cfg.NextProtos = nil }),
		"another ALPN": handshake(func(cfg *tls.Config) { cfg.NextProtos = []string{"h2"} }),
		"TLS 1.2":      handshake(func(cfg *tls.Config) { cfg.MaxVersion = tls.VersionTLS12 }),
		"a call behind the request": func(t *testing.T, p rawPeer) {
			plain := strings.Replace(tlsCall, "0000000700000000", "0000000000000000", 1)
			if _, err := p.Write(unhex(t, tlsCall+plain)); err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(p.ends()); got != tlsReply && got != "" {
				t.Errorf("the server says %s", got)
			}
		},
		"a call behind the reply": func(t *testing.T, p rawPeer) {
			p.exchange(tlsCall, tlsReply)
			if _, err := p.Write(unhex(t, tlsCall)); err != nil {
				t.Fatal(err)
			}
			if got := p.ends(); bytes.Contains(got, unhex(t, "12345678")) {
				t.Errorf("the server says %x", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := counters.Stats().BadHandshakes
			f(t, r.raw())
			if n := counters.Stats().BadHandshakes - before; n != 1 {
				t.Errorf("BadHandshakes grew by %d", n)
			}
		})
	}
}

// A request for TLS within TLS is refused, and calls go on. The client's close alert is an orderly
// end.
func TestTLSWithin(t *testing.T) {
	r := newTLSRig(t, nil)
	p := r.raw()
	p.exchange(tlsCall, tlsReply)
	cfg := r.client.Clone()
	cfg.ServerName, cfg.NextProtos = "127.0.0.1", []string{"sunrpc"}
	conn := tls.Client(p.Conn, cfg)
	within := rawPeer{t, conn}
	within.exchange(tlsCall, tlsNot)
	null := strings.Replace(tlsCall, "0000000700000000", "0000000000000000", 1)
	within.exchange(null, "80000018"+"12345678"+"00000001"+"00000000"+"0000000000000000"+"00000000")
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err != io.EOF { // which is the server's alert
		t.Errorf("%d bytes, %v", n, err)
	}
}

// The server's calls to the client use the TLS session.
func TestTLSBackward(t *testing.T) {
	asked := make(chan string, 1)
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := server(t, func(ctx context.Context, c *oncrpc.Call) error {
		got := blob{make([]byte, 5)}
		err := client(c.Conn.(*recordmark.Conn)).Call(ctx, 1, data("hello"), &got)
		asked <- string(got.p)
		return err
	})
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(context.Background(), l, srv,
			recordmark.Config{TLS: certs.Server(), Logger: quiet})
	}()
	t.Cleanup(func() {
		srv.Close()
		hang.Receive(t, "the end of the server", served)
	})
	c, err := dialTLS(t, t.Context(), l.Addr().String(), testProgram, testVersion, certs.Client())
	if err != nil {
		t.Fatal(err)
	}
	c.Serve(server(t, func(_ context.Context, k *oncrpc.Call) error {
		if _, ok := k.Conn.(*recordmark.Conn).TLS(); !ok {
			t.Error("the call came in the clear")
		}
		k.Results.BulkBytes([]byte("there"), nil)
		return nil
	}))
	if err := client(c).Call(t.Context(), 1, nil, nil); err != nil {
		t.Error(err)
	}
	if got := <-asked; got != "there" {
		t.Errorf("the client answers %q", got)
	}
}

// The start of TLS and the client's name are logged. The server asks for a certificate by default.
func TestTLSLogged(t *testing.T) {
	var log bytes.Buffer
	for _, auth := range []tls.ClientAuthType{tls.NoClientCert, tls.RequestClientCert} {
		r := newTLSRig(t, func(cfg *recordmark.Config) {
			cfg.TLS.ClientAuth = auth
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		cfg := r.client.Clone()
		cfg.Certificates = []tls.Certificate{r.cert}
		c, err := r.dial(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := who(t, c); got != testcert.ClientName || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		want := map[tls.ClientAuthType]string{
			tls.NoClientCert:      "level=INFO msg=\"rpc: TLS has begun\" peer=127.0.0.1:",
			tls.RequestClientCert: `client="not verified"`,
		}[auth]
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %q, want %q", &log, want)
		}
	}
	if !strings.Contains(log.String(), "client=\"CN="+testcert.ClientName) &&
		!strings.Contains(log.String(), "client=CN="+testcert.ClientName) {
		t.Errorf("log %q has no name", &log)
	}
}

// Without a handshake, the connection ends after ten seconds.
func TestTLSStalls(t *testing.T) {
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := newListener(1)
		srv := server(t, whoami)
		served := make(chan error, 1)
		go func() {
			served <- recordmark.Serve(t.Context(), l, srv, recordmark.Config{
				TLS: certs.Server(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		}()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		if _, err := ours.Write(unhex(t, tlsCall)); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, len(tlsReply)/2)
		if _, err := io.ReadFull(ours, reply); err != nil || hex.EncodeToString(reply) != tlsReply {
			t.Fatalf("%x, %v", reply, err)
		}
		began := time.Now()
		if n, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%d bytes, %v, want the end", n, err)
		}
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("it ended after %v", d)
		}
		synctest.Wait()
		ours.Close()
		srv.Close()
		<-served
		if !strings.Contains(log.String(), `msg="rpc: TLS has not begun, connection closed"`) {
			t.Errorf("the log says %q", &log)
		}
	})
}

// A server may require certificates of clients that use TLS.
func TestTLSRequired(t *testing.T) {
	r := newTLSRig(t, func(cfg *recordmark.Config) { cfg.TLS.ClientAuth = tls.RequireAndVerifyClientCert })
	c, err := r.dial(r.client)
	if err == nil { // the refusal arrives after the client's handshake has ended
		_, err = who(t, c)
	}
	if err == nil {
		t.Error("a client without a certificate was served")
	}
	cfg := r.client.Clone()
	cfg.Certificates = []tls.Certificate{r.cert}
	if c, err = r.dial(cfg); err != nil {
		t.Fatal(err)
	}
	if got, err := who(t, c); got != testcert.ClientName || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
