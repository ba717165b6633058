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

// Session has the servers and exports of a command, and the flags that say how to reach them. All
// URLs of a server share its connections, one by default.
type Session struct {
	Flags *Flags
	// for notices about servers
	Stderr  func() io.Writer
	Verbose bool // report answers that take more than a second
	// called before each READ of a whole file; nil: no limit
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

// Open returns the export of a URL, and the name of the URL's file in the export's FS: "." for the
// root, and never with a trailing slash.
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

// Exports returns the exports of the server of a URL. The URL's path does not matter, and need not
// be in an export.
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

// server returns the server of a target. It connects if necessary.
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

// Close unmounts all exports, without waiting for slow servers, and closes all connections.
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
