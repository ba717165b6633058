package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

// unmountTime is how long servers may take, all together, to forget that something was mounted.
const unmountTime = time.Second

// remotes are the exports that a command has reached, and how it reaches them (the flags). One connection, or as many as are asked
// for, serves all URLs of a server.
type remotes struct {
	flags  *remoteFlags
	stderr func() io.Writer // for what is to be known while the command goes on

	mu      sync.Mutex // guards what follows, and is held while a server is connected to
	servers map[serverKey]*remoteServer
}

// remote is one export.
type remote struct {
	fs     *nfsfs.FS
	client *nfsclient.Client
	root   nfsmount.Root
}

// open finds the export that a URL names something in, and the name of that in its fs: "." for its root, never with a
// trailing slash, whether the URL has one or not.
func (r *remotes) open(ctx context.Context, url string) (m *remote, name string, err error) {
	t, err := parseTarget(url)
	if err != nil {
		return nil, "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.server(ctx, t)
	if err != nil {
		return nil, "", err
	}
	if m, name, err = s.open(ctx, t.path); name == "" {
		name = "."
	}
	return m, name, err
}

// exports returns what the server of a URL exports; the URL's path does not matter. It is for what is in no
// export, like rdma://host where / is not exported.
func (r *remotes) exports(ctx context.Context, url string) ([]mount3.Export, error) {
	t, err := parseTarget(url)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.server(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := s.locate(ctx); err != nil {
		return nil, err
	}
	return s.service.Exports(ctx)
}

// server returns the server of a target, connected.
func (r *remotes) server(ctx context.Context, t target) (*remoteServer, error) {
	k := serverKey{t.scheme, t.host, t.port, t.mountPort, t.rpcbind, t.udp, t.tls}
	if s := r.servers[k]; s != nil {
		return s, nil
	}
	s, err := r.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	if r.servers == nil {
		r.servers = make(map[serverKey]*remoteServer)
	}
	r.servers[k] = s
	return s, nil
}

// close ends all connections. The servers are told that nothing is mounted any more, which they need not acknowledge.
func (r *remotes) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), unmountTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range r.servers {
		wg.Go(func() { s.close(ctx) })
	}
	wg.Wait()
	r.servers = nil
	return nil
}
