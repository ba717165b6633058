package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// ExplainMount adds to an error of finding MOUNT what to do about it.
func (s *Server) ExplainMount(err error) error {
	var search *nfsmount.SearchError
	err = s.explainFlavor(err)
	if errors.As(err, &search) && s.Target.MountPort == 0 {
		return fmt.Errorf("%w; if it is elsewhere, add ?mountport=PORT to the URL", err)
	}
	return err
}

// ServerKey identifies a server.
type ServerKey struct {
	Scheme    string
	Host      string
	Port      int
	mountPort int
	rpcbind   int
	udp       int
	tls       bool
	sec       mount3.Flavor
}

// Server is a server with its connections.
type Server struct {
	Flags    *Flags
	Target   reach.Target // without a path
	Cred     oncrpc.ClientFlavor
	notices  notices
	patience patience
	pace     func(ctx context.Context, bytes int) error
	trace    *trace.Writer // of all connections, whatever the context of dial; nil: none
	Conn     oncrpc.Transport
	contexts contexts

	mounts  *nfsmount.Service // nil: not found yet
	list    []mount3.Export   // nil: not asked for yet
	Exports map[string]*Export
}

// connect connects to the server of a target.
func (r *Session) connect(ctx context.Context, t reach.Target) (*Server, error) {
	flags := r.Flags
	if flags == nil {
		flags = NewFlags()
	}
	if err := flags.Become(flags.named); err != nil {
		return nil, err
	}
	cred, err := flags.Cred()
	if err != nil {
		return nil, err
	}
	stderr := io.Discard
	if r.Stderr != nil {
		stderr = r.Stderr()
	}
	s := &Server{
		Flags:   flags,
		Target:  t.At("/"),
		Cred:    cred,
		notices: notices{out: stderr, from: t.Server(), wait: flags.Wait.Duration, verbose: r.Verbose},
		pace:    r.Pace,
		trace:   reach.TraceOf(ctx),
		Exports: make(map[string]*Export),
	}
	conn, err := redial.New(ctx, s.dial, redial.Config{
		Conns:  flags.Connections.N,
		Wait:   flags.Wait.Duration,
		Logger: reach.Quiet,
	})
	if err != nil {
		var op *redial.OpError
		if errors.As(err, &op) {
			err = op.Err // which is enough
		}
		return nil, err
	}
	s.patience = patience{wait: flags.Wait.Duration, tell: &s.notices, close: func() { conn.Close() }}
	s.Conn = patient{conn, &s.patience}
	return s, nil
}

// locate finds MOUNT.
func (s *Server) locate(ctx context.Context) error {
	if s.mounts != nil {
		return nil
	}
	ctx, done := s.patience.watch(ctx)
	service, err := nfsmount.FindService(ctx, s.Conn, nfsmount.Config{
		Host: s.Target.Host, Port: s.Target.MountPort, Flavor: s.Cred, Flavors: s.Have(),
		Wrap: func(c net.Conn) net.Conn { return listening{s.trace.Dialed(c), s.patience.alive} },
	})
	if err = done(err); err != nil {
		return s.ExplainMount(err)
	}
	s.mounts = service
	return nil
}

// open mounts the export that holds a path, and returns the rest of the path below it.
func (s *Server) open(ctx context.Context, path string) (*Export, string, error) {
	if err := s.locate(ctx); err != nil {
		return nil, "", err
	}
	if len(s.Exports) > 0 && s.list == nil { // it may be mounted already
		s.list, _ = s.mounts.Exports(ctx)
	}
	if export, rest, ok := nfsmount.ExportOf(s.list, path); ok && s.Exports[export] != nil {
		return s.Exports[export], rest, nil
	}
	watched, done := s.patience.watch(ctx)
	root, err := s.mounts.Mount(watched, path)
	if err = done(err); err != nil {
		return nil, "", s.ExplainMount(err)
	}
	if m := s.Exports[root.Export]; m != nil {
		return m, root.Rest, nil
	}
	flavor, err := s.Flavor(root.Flavor)
	if err != nil {
		return nil, "", err
	}
	m := &Export{Client: nfsclient.New(s.Conn, flavor), Root: root}
	if err := s.CheckPort(ctx, m); err != nil {
		return nil, "", err
	}
	m.FS = nfsfs.New(m.Client, root.Handle, nfsfs.Config{
		Export:       root.Export,
		TransferSize: int(s.Flags.Size),
		Parallel:     s.Flags.Parallel.N,
		Pace:         s.pace,
	})
	s.Exports[root.Export] = m
	return m, root.Rest, nil
}

// CheckPort checks whether the server accepts calls from our port, if that is not privileged.
// Without the option insecure, Linux's server answers all calls over TCP with NFS3ERR_PERM.
func (s *Server) CheckPort(ctx context.Context, m *Export) error {
	a, ok := s.Conn.LocalAddr().(*net.TCPAddr)
	if s.Target.Scheme != "tcp" || !ok || a.Port < 1024 {
		return nil
	}
	if _, err := m.Client.GetAttr(ctx, m.Root.Handle); errors.Is(err, nfs3.ErrPerm) {
		return errors.New(`the server refuses all calls: it may want a port below 1024, ` +
			`which this process lacks the privilege for, ` +
			`or else the export option "insecure"`)
	}
	return nil
}

// close unmounts the exports, within ctx, and closes the connections.
func (s *Server) close(ctx context.Context) {
	var wg sync.WaitGroup
	if s.patience.isOver() { // it would not answer
		s.Exports = nil
	}
	for _, m := range s.Exports {
		wg.Go(func() { _ = m.Root.Unmount(ctx) })
	}
	wg.Wait()
	if s.mounts != nil {
		s.mounts.Close()
	}
	if !s.patience.isOver() {
		s.Forget(ctx, s.Conn)
	}
	reach.End(s.Conn)
}
