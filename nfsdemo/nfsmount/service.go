package nfsmount

import (
	"context"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Service calls the MOUNT program of a server. Its methods may be called concurrently.
type Service struct {
	cfg  Config
	nfs  oncrpc.Transport
	addr string // over TCP; "": on nfs

	mu     sync.Mutex       // guards what follows, and is held while connecting
	conn   oncrpc.Transport // over TCP; nil: none
	closed bool             // by Close: each later call makes its own connection
}

// Exports returns the exports of the server, and which hosts may use them.
func (s *Service) Exports(ctx context.Context) ([]mount3.Export, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, release, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return nfsclient.Exports(ctx, conn, s.cfg.Flavor)
}

func (s *Service) unmount(ctx context.Context, export string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, release, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer release()
	return nfsclient.Unmount(ctx, conn, s.cfg.Flavor, export)
}

// Close closes the connection to MOUNT, unless that is the connection to the NFS server. Later
// calls, and Root.Unmount, each make a connection of their own.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		end(s.conn)
		s.conn = nil
	}
	return nil
}

// TakeTransport is Close, but gives the connection to MOUNT to the caller. It returns nil if that
// is the connection to the NFS server, or if there is none.
func (s *Service) TakeTransport() oncrpc.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.conn
	s.closed, s.conn = true, nil
	return conn
}

// connect returns a connection to MOUNT. Call release when it is no longer needed.
func (s *Service) connect(ctx context.Context) (conn oncrpc.Transport, release func(), err error) {
	if s.addr == "" {
		return s.nfs, func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.Err() == nil {
		return s.conn, func() {}, nil
	}
	if conn, err = s.cfg.dial(ctx, s.addr, true); err != nil {
		return nil, nil, err
	}
	if s.closed {
		return conn, func() { end(conn) }, nil
	}
	if s.conn != nil {
		end(s.conn)
	}
	s.conn = conn
	return conn, func() {}, nil
}
