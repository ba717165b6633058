package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// serverKey is what makes a server another one.
type serverKey struct {
	scheme    string
	host      string
	port      int
	mountPort int
	rpcbind   int
	udp       int
	tls       bool
}

// remoteServer is a server that is connected to.
type remoteServer struct {
	flags   *remoteFlags
	target  target // without a path
	cred    oncrpc.ClientFlavor
	notices notices       // of dial, which is not called concurrently
	trace   *trace.Writer // of all connections, whatever the context of dial; nil: none
	conn    oncrpc.Transport

	service *nfsmount.Service // nil: not found yet
	list    []mount3.Export   // nil: not asked for yet
	exports map[string]*remote
}

// connect connects to the server of a target.
func (r *remotes) connect(ctx context.Context, t target) (*remoteServer, error) {
	flags := r.flags
	if flags == nil {
		flags = newRemoteFlags()
	}
	flags.become(flags.named)
	cred, err := flags.cred()
	if err != nil {
		return nil, err
	}
	stderr := io.Discard
	if r.stderr != nil {
		stderr = r.stderr()
	}
	s := &remoteServer{
		flags:   flags,
		target:  t.at("/"),
		cred:    cred,
		notices: notices{out: stderr, from: t.server(), wait: flags.wait.Duration},
		trace:   traceOf(ctx),
		exports: make(map[string]*remote),
	}
	conn, err := redial.New(ctx, s.dial, redial.Config{
		Conns:  flags.connections.n,
		Wait:   flags.wait.Duration,
		Logger: quiet,
	})
	if err != nil {
		var op *redial.OpError
		if errors.As(err, &op) {
			err = op.Err // which says enough
		}
		return nil, err
	}
	s.conn = conn
	return s, nil
}

// locate finds out where MOUNT is.
func (s *remoteServer) locate(ctx context.Context) error {
	if s.service != nil {
		return nil
	}
	service, err := nfsmount.FindService(ctx, s.conn, nfsmount.Config{
		Host: s.target.host, Port: s.target.mountPort, Flavor: s.cred, Wrap: s.trace.Dialed,
	})
	if err != nil {
		return s.explainMount(err)
	}
	s.service = service
	return nil
}

// open finds the export that holds a path, and what of the path is below it.
func (s *remoteServer) open(ctx context.Context, path string) (*remote, string, error) {
	if err := s.locate(ctx); err != nil {
		return nil, "", err
	}
	if len(s.exports) > 0 && s.list == nil { // another path of the same export, most likely
		s.list, _ = s.service.Exports(ctx)
	}
	if export, rest, ok := nfsmount.ExportOf(s.list, path); ok && s.exports[export] != nil {
		return s.exports[export], rest, nil
	}
	root, err := s.service.Mount(ctx, path)
	if err != nil {
		return nil, "", s.explainMount(err)
	}
	if m := s.exports[root.Export]; m != nil {
		return m, root.Rest, nil
	}
	m := &remote{client: nfsclient.New(s.conn, s.cred), root: root}
	if err := s.checkPort(ctx, m); err != nil {
		return nil, "", err
	}
	m.fs = nfsfs.New(m.client, root.Handle, nfsfs.Config{
		Export:       root.Export,
		TransferSize: int(s.flags.size),
		Parallel:     s.flags.parallel.n,
	})
	s.exports[root.Export] = m
	return m, root.Rest, nil
}

// checkPort finds out whether the server answers calls from a port that anybody can have, if it is one. Linux's does not, unless told
// so: all its answers over TCP are NFS3ERR_PERM then.
func (s *remoteServer) checkPort(ctx context.Context, m *remote) error {
	a, ok := s.conn.LocalAddr().(*net.TCPAddr)
	if s.target.scheme != "tcp" || !ok || a.Port < 1024 {
		return nil
	}
	if _, err := m.client.GetAttr(ctx, m.root.Handle); errors.Is(err, nfs3.ErrPerm) {
		return errors.New(`the server answers nothing: it may want calls from a port below 1024, for which this process lacks the privilege, ` +
			`or else the export option "insecure"`)
	}
	return nil
}

// close ends the connection. The context is that of telling the server that nothing is mounted any more.
func (s *remoteServer) close(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range s.exports {
		wg.Go(func() { _ = m.root.Unmount(ctx) })
	}
	wg.Wait()
	if s.service != nil {
		s.service.Close()
	}
	end(s.conn)
}

// end closes a connection, and waits until nothing of it is left.
func end(conn oncrpc.Transport) {
	conn.Close()
	<-conn.Done()
}
