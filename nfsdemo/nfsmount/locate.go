package nfsmount

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// FindService finds the MOUNT program of a server. t is a connection to the NFS server, or nil. The
// error is a *SearchError, or that ctx has ended. Close the Service when it is no longer needed;
// that does not close t.
func FindService(ctx context.Context, t oncrpc.Transport, cfg Config) (*Service, error) {
	l := &search{s: &Service{cfg: cfg, nfs: t}}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	return l.s, nil
}

// search is the state of FindService.
type search struct {
	s     *Service
	tried []Attempt
}

func (l *search) run(ctx context.Context) error {
	found, cfg := false, &l.s.cfg
	if cfg.Port != 0 {
		found = l.tcp(ctx, cfg.Port)
	} else {
		found = l.here(ctx) || l.named(ctx) || l.usual(ctx)
	}
	switch {
	case ctx.Err() != nil:
		l.s.Close()
		return ctx.Err()
	case !found:
		return &SearchError{cfg.Host, l.tried}
	}
	return nil
}

// failed records an attempt that failed.
func (l *search) failed(where string, err error) bool {
	l.tried = append(l.tried, Attempt{where, err})
	return false
}

// ended reports whether no other place is to be tried.
func (l *search) ended(ctx context.Context) bool { return ctx.Err() != nil || l.s.cfg.Host == "" }

// here tries the connection to the NFS server.
func (l *search) here(ctx context.Context) bool {
	if l.s.nfs == nil {
		return false
	}
	if err := l.s.cfg.answers(ctx, l.s.nfs); err != nil {
		return l.failed("on the connection to NFS", err)
	}
	return true
}

// named tries the port that rpcbind returns.
func (l *search) named(ctx context.Context) bool {
	if l.ended(ctx) {
		return false
	}
	port, err := l.s.cfg.lookUp(ctx)
	if err != nil {
		return l.failed("rpcbind at "+l.s.cfg.addr(rpcbind.Port), err)
	}
	return l.tcp(ctx, port)
}

// usual tries DefaultPort.
func (l *search) usual(ctx context.Context) bool {
	n := len(l.tried)
	if l.ended(ctx) || n > 0 && l.tried[n-1].Where == l.s.cfg.where(DefaultPort) {
		return false
	}
	return l.tcp(ctx, DefaultPort)
}

// tcp tries a TCP port.
func (l *search) tcp(ctx context.Context, port int) bool {
	l.s.addr = l.s.cfg.addr(port)
	conn, _, err := l.s.connect(ctx)
	if err == nil {
		err = l.s.cfg.answers(ctx, conn)
	}
	if err != nil {
		l.s.drop()
		return l.failed(l.s.cfg.where(port), err)
	}
	return true
}

func (c *Config) where(port int) string { return "MOUNT at TCP port " + c.addr(port) }

// drop closes the connection, before another place is tried.
func (s *Service) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		end(s.conn)
		s.conn = nil
	}
}

// answers checks whether MOUNT answers on a connection.
func (c *Config) answers(ctx context.Context, t oncrpc.Transport) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	null := oncrpc.Request{Procedure: uint32(mount3.ProcNull), MayRepeat: true}
	return oncrpc.NewClient(t, mount3.Program, mount3.Version, c.Flavor).Do(ctx, &null)
}
