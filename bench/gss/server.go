package gss

import (
	"context"
	"os"

	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/internal/testrealm"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// listen serves an empty file system to callers with any flavour.
func listen(ctx context.Context, c Carrier, s paired.Sockets) (*memory.Server, error) {
	a, err := acceptor()
	if err != nil {
		return nil, err
	}
	m, err := memory.New(memfs.Config{}, oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{
		oncrpc.AcceptAuthSys(), oncrpc.AcceptAuthNone(),
		gss.NewServerFlavor(gss.ServerConfig{Acceptor: a}),
	}})
	if err != nil {
		return nil, err
	}
	addr, serve, err := c.listen(ctx, s)
	if err != nil {
		return nil, err
	}
	m.Start(ctx, addr, serve)
	return m, nil
}

// acceptor returns an acceptor with the service's key. The keytab file may be removed afterwards.
func acceptor() (*krb5.Acceptor, error) {
	var a *krb5.Acceptor
	err := inRealm(func(f *testrealm.Files) (err error) {
		a, err = krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: f.Keytab})
		return err
	})
	return a, err
}

// inRealm calls do with the files of the realm, and removes them afterwards.
func inRealm(do func(*testrealm.Files) error) error {
	dir, err := os.MkdirTemp("", "gssbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := testrealm.Write(dir)
	if err != nil {
		return err
	}
	return do(f)
}
