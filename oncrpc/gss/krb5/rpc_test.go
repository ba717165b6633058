package krb5_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// A client whose ticket the server has no key for gets an explanation, although RPCSEC_GSS carries
// only numbers.
func TestRefusalInWords(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	var logged strings.Builder
	flavor := gss.NewServerFlavor(gss.ServerConfig{
		Acceptor: newRig(r.id).acceptor(t, nil), Now: atNow,
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{flavor}})
	srv.Handle(oncrpc.Program{Number: 0x20001235, Version: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go recordmark.Serve(t.Context(), l, srv, recordmark.Config{})
	conn, err := recordmark.Dial(t.Context(), l.Addr().String(), recordmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := oncrpc.NewClient(conn, 0x20001235, 1, gss.NewClientFlavor(gss.ClientConfig{
		Initiator: r.initiator(t, nil), Target: service, Service: gss.Integrity, Now: atNow,
	}))
	err = c.Call(t.Context(), 0, nil, nil)
	if err == nil || !strings.Contains(err.Error(), service+": integrity check") ||
		!strings.Contains(err.Error(), "nfs/server.test@TEST.EXAMPLE") {
		t.Errorf("the client says: %v", err)
	}
	conn.Close()
	if err := srv.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "keytab") || !strings.Contains(logged.String(), "ktadd") {
		t.Errorf("the server has logged %q", logged.String())
	}
}
