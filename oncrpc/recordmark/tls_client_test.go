package recordmark_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// A client does not use the session if the server negotiates no application protocol.
func TestTLSNoALPN(t *testing.T) {
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		call := make([]byte, 44)
		io.ReadFull(conn, call)
		reply, _ := hex.DecodeString(tlsReply)
		copy(reply[4:8], call[4:8])
		conn.Write(reply)
		secured := tls.Server(conn, certs.Server())
		if err := secured.Handshake(); err != nil {
			ended <- err
			return
		}
		n, err := secured.Read(make([]byte, 1))
		if n > 0 {
			err = errors.New("the client calls")
		}
		ended <- err
	}()
	if _, err := dialTLS(t, t.Context(), l.Addr().String(), testProgram, testVersion, certs.Client()); err == nil {
		t.Error("the client takes the session")
	}
	if err := hang.Receive(t, "the end at the server", ended); err == nil || err.Error() == "the client calls" {
		t.Error(err)
	}
}

// A certificate for another name or address is rejected.
func TestTLSOtherHost(t *testing.T) {
	r := newTLSRig(t, nil)
	for _, name := range []string{"other.test", "127.0.0.2"} {
		cfg := r.client.Clone()
		cfg.ServerName = name
		_, err := r.dial(cfg)
		var host x509.HostnameError
		if !errors.As(err, &host) {
			t.Errorf("%s: got error %v, want a %T", name, err, host)
		}
	}
}

// A server's answers to a request for TLS that do not agree to it.
func TestTLSClient(t *testing.T) {
	r := newTLSRig(t, nil)
	for _, tt := range []struct {
		name, reply string
		want        error
	}{
		{"denied", "80000014" + "%s" + "00000001" + "00000001" + "00000001" + "00000001", recordmark.ErrNoTLS},
		{"accepted, no token", "80000018" + "%s" + "00000001" + "00000000" + "0000000000000000" + "00000000", recordmark.ErrNoTLS},
		{"another token", "80000020" + "%s" + "00000001" + "00000000" + "00000000" + "00000008" + "5354415254545352" + "00000000", recordmark.ErrNoTLS},
		{"another flavour", "80000020" + "%s" + "00000001" + "00000000" + "00000001" + "00000008" + "5354415254544c53" + "00000000", recordmark.ErrNoTLS},
		{"cut short", "8000000c" + "%s" + "00000001" + "00000000", recordmark.ErrNoTLS},
		{"to another call", "80000020" + "ffffffff" + "00000001" + "00000000" + "00000000" + "00000008" + "5354415254544c53" + "00000000", nil},
		{"a call", "80000018" + "%s" + "00000000" + "00000002" + "00000001" + "00000001" + "00000000", nil},
		{"something behind it", "80000020" + "%s" + "00000001" + "00000000" + "00000000" + "00000008" + "5354415254544c53" + "00000000" + "80000000", nil},
		{"a long record", "80100000", recordmark.ErrRecordTooLong},
		{"nothing", "", recordmark.ErrClosedByPeer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				call := make([]byte, 44)
				if _, err := io.ReadFull(conn, call); err != nil {
					return
				}
				reply, _ := hex.DecodeString(strings.Replace(tt.reply, "%s", hex.EncodeToString(call[4:8]), 1))
				conn.Write(reply)
				if len(reply) > 0 {
					io.Copy(io.Discard, conn)
				}
			}()
			_, err = dialTLS(t, t.Context(), l.Addr().String(), testProgram, testVersion,
				&tls.Config{RootCAs: x509.NewCertPool()})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			io.ReadFull(conn, make([]byte, 44))
			cancel(why)
			io.Copy(io.Discard, conn)
		}()
		_, err = dialTLS(t, ctx, l.Addr().String(), testProgram, testVersion, r.client)
		if !errors.Is(err, why) {
			t.Errorf("got error %v, want %v", err, why)
		}
	})
}
