package main

import (
	"context"
	"errors"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// connect starts an NFS server and connects to it. The function that it returns
// ends both.
func connect(ctx context.Context, p provider, capacity int64, o rpcrdma.Observer) (*rpcrdma.Conn, func() error, error) {
	mem, err := memfs.New(memfs.Config{Capacity: capacity, RootUID: uint32(os.Getuid()), RootGID: uint32(os.Getgid())})
	if err != nil {
		return nil, nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: mem, Squash: nfsserver.SquashNone}}})
	if err != nil {
		return nil, nil, err
	}
	listener, dialer, err := p(ctx)
	if err != nil {
		return nil, nil, err
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{})
	rpc.Handle(nfs.Programs()...)
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.WithoutCancel(ctx), listener, rpc, rpcrdma.Config{}) }()
	stop := func() error {
		err := rpc.Shutdown(context.WithoutCancel(ctx))
		if end := <-served; !errors.Is(end, oncrpc.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}
	conn, err := rpcrdma.Dial(ctx, dialer, listener.Addr().String(), rpcrdma.Config{Observer: o})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return conn, func() error {
		conn.Close()
		<-conn.Done()
		return stop()
	}, nil
}

// mount returns the files of the server as the user of this process sees them.
func mount(ctx context.Context, conn *rpcrdma.Conn) (*nfsfs.FS, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	cred, err := (&oncrpc.SysCred{
		Machine: host[:min(len(host), oncrpc.MaxMachineName)],
		UID:     uint32(os.Getuid()),
		GID:     uint32(os.Getgid()),
	}).Auth()
	if err != nil {
		return nil, err
	}
	client := nfsclient.New(conn, cred)
	root, err := client.Mount(ctx, "/")
	if err != nil {
		return nil, err
	}
	// What is not committed is in memory twice here, at the client and at the server.
	return nfsfs.New(client, root, nfsfs.Config{Export: "/", Uncommitted: 16 << 20}), nil
}
