package remote

import (
	"context"
	"io"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

// Session are the exports that a command has reached, and how it reaches them (the flags). One
// connection, or as many as are asked for, serves all URLs of a server.
type Session struct {
	Flags *Flags
	// for what is to be known while the command goes on
	Stderr  func() io.Writer
	Verbose bool // slow answers are to be known, too
	// before each READ of a whole file; nil: none waits
	Pace func(ctx context.Context, bytes int) error

	mu      sync.Mutex // guards what follows, and is held while a server is connected to
	Servers map[ServerKey]*Server
}

// Export is one export.
type Export struct {
	FS     *nfsfs.FS
	Client *nfsclient.Client
	Root   nfsmount.Root
}

// Open finds the export that a URL names something in, and the name of that in its fs: "." for its
// root, never with a trailing slash, whether the URL has one or not.
func (r *Session) Open(ctx context.Context, url string) (m *Export, name string, err error) {
	t, err := reach.ParseTarget(url)
	if err != nil {
		return nil, "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.server(ctx, t)
	if err != nil {
		return nil, "", err
	}
	if m, name, err = s.open(ctx, t.Path); name == "" {
		name = "."
	}
	return m, name, err
}

// Exports returns what the server of a URL exports; the URL's path does not matter. It is for what
// is in no export, like rdma://host where / is not exported.
func (r *Session) Exports(ctx context.Context, url string) ([]mount3.Export, error) {
	t, err := reach.ParseTarget(url)
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
	return s.mounts.Exports(ctx)
}

// server returns the server of a target, connected.
func (r *Session) server(ctx context.Context, t reach.Target) (*Server, error) {
	k := ServerKey{t.Scheme, t.Host, t.Port, t.MountPort, t.Rpcbind, t.UDP, t.TLS, t.Sec}
	if s := r.Servers[k]; s != nil {
		return s, nil
	}
	s, err := r.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	if r.Servers == nil {
		r.Servers = make(map[ServerKey]*Server)
	}
	r.Servers[k] = s
	return s, nil
}

// Close ends all connections. The servers are told that nothing is mounted any more, which they
// need not acknowledge.
func (r *Session) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), reach.UnmountTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range r.Servers {
		wg.Go(func() { s.close(ctx) })
	}
	wg.Wait()
	r.Servers = nil
	return nil
}
