package nfsserver_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// realm is a server over TCP that accepts RPCSEC_GSS, and a connection to it.
type realm struct {
	tb        testing.TB
	nfs       *nfsserver.Server
	conn      oncrpc.Transport
	mechanism *gsstest.Mechanism
}

func newRealm(tb testing.TB, cfg nfsserver.Config) *realm {
	tb.Helper()
	r := &realm{tb: tb, mechanism: &gsstest.Mechanism{Secret: []byte("secret")}}
	quiet := slog.New(slog.DiscardHandler)
	cfg.GSS = true
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	var err error
	if r.nfs, err = nfsserver.New(cfg); err != nil {
		tb.Fatal(err)
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet, Flavors: []oncrpc.ServerFlavor{
		oncrpc.AcceptAuthSys(), oncrpc.AcceptAuthNone(),
		gss.NewServerFlavor(gss.ServerConfig{Acceptor: r.mechanism.Acceptor(), Logger: quiet}),
	}})
	rpc.Handle(r.nfs.Programs()...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(context.Background(), l, rpc, recordmark.Config{Logger: quiet})
	}()
	if r.conn, err = recordmark.Dial(tb.Context(), l.Addr().String(),
		recordmark.Config{Logger: quiet}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		r.conn.Close()
		<-r.conn.Done()
		rpc.Close()
		<-served
		if n := rpc.Stats().Panics; n > 0 {
			tb.Errorf("%d panics", n)
		}
	})
	return r
}

// flavor returns a flavour for calls by user 1000, or by the principal if there is one.
func (r *realm) flavor(f mount3.Flavor, principal string) oncrpc.ClientFlavor {
	r.tb.Helper()
	switch f {
	case mount3.FlavorNone:
		return oncrpc.AuthNone()
	case mount3.FlavorSys:
		return auth(r.tb, 1000)
	}
	cf := gss.NewClientFlavor(gss.ClientConfig{
		Initiator: r.mechanism.Initiator(principal), Target: "nfs@server", Service: f.Service()})
	r.tb.Cleanup(func() {
		if err := cf.Close(context.Background(), r.nfsAs(cf)); err != nil {
			r.tb.Error(err)
		}
	})
	return cf
}

// nfsAs returns a client of NFS, and mountAs one of MOUNT.
func (r *realm) nfsAs(f oncrpc.ClientFlavor) *oncrpc.Client { return nfsOn(r.conn, f) }

func (r *realm) mountAs(f oncrpc.ClientFlavor) *oncrpc.Client { return mountOn(r.conn, f) }

// allFlavors are all flavours.
var allFlavors = []mount3.Flavor{mount3.FlavorNone, mount3.FlavorSys, mount3.FlavorKrb5,
	mount3.FlavorKrb5i, mount3.FlavorKrb5p}

// alice knows one principal, user 1000.
func alice(_ context.Context, _ net.Addr, principal string) (*vfs.Cred, error) {
	if principal == "alice@TEST" {
		return &vfs.Cred{UID: 1000, GID: 1000}, nil
	}
	return nil, nil
}
