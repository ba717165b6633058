package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// messageRoom is the most bytes of a message besides the data of a READ or WRITE.
const messageRoom = 64 << 10

// dial connects to the server, and makes sure that it is an NFS server.
func (s *Server) dial(ctx context.Context) (oncrpc.Transport, error) {
	ctx = reach.WithTrace(ctx, s.trace)
	limit := s.Flags.dialTime(!s.notices.wasUp())
	s.notices.dialing(fmt.Errorf("no answer from port %s", s.Target.Addr()))
	var conn oncrpc.Transport
	explain := words.Explainer{Asked: s.Target.Rpcbind != 0, Up: s.notices.wasUp(), Waited: limit}
	at := s.Target
	err := within(ctx, limit, func(ctx context.Context) (err error) {
		at, err = s.Target.Found(ctx, s.Flags.RDMA(),
			rpcrdma.Config{Logger: reach.Quiet, Dialect: s.Flags.Dialect.Value})
		return err
	})
	if err == nil {
		err = within(ctx, limit, func(ctx context.Context) (err error) {
			conn, err = s.DialScheme(ctx, at)
			return err
		})
	}
	if err == nil {
		explain.Connected = true
		err = within(ctx, limit, nfsclient.New(conn, s.Cred).Null)
		if err == nil {
			s.notices.connected()
			return conn, nil
		}
		reach.End(conn)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	err = explain.Explain(at, err)
	s.notices.failed(err)
	return nil, err
}

// within runs a step of connecting. Each step has the whole limit, because a slow server still
// makes progress.
func within(ctx context.Context, limit time.Duration, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

// DialScheme connects to a target by its scheme. The port must be known.
func (s *Server) DialScheme(ctx context.Context, t reach.Target) (oncrpc.Transport, error) {
	f := s.Flags
	if t.Scheme == "tcp" {
		cfg := recordmark.Config{
			Logger:    reach.Quiet,
			Wrap:      reach.TraceOf(ctx).Dialed,
			MaxCalls:  f.Credits.N,
			MaxRecord: max(recordmark.DefaultMaxRecord, int(f.Size)+messageRoom),
		}
		conn, err := recordmark.DialPrivileged(ctx, t.Addr(), cfg)
		if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
			conn, err = recordmark.Dial(ctx, t.Addr(), cfg)
		}
		if err == nil && t.TLS {
			err = s.startTLS(ctx, conn, t)
		}
		return reach.OrNil(conn, err)
	}
	configure, err := s.ConfFlavor()
	if err != nil {
		return nil, err
	}
	return reach.DialOverRDMA(ctx, t, f.RDMA(), rpcrdma.Config{
		Logger:     reach.Quiet,
		Dialect:    f.Dialect.Value,
		InlineSend: int(f.Inline),
		InlineRecv: int(f.Inline),
		Credits:    f.Credits.N,
		MaxMessage: max(4<<20, int(f.Size)+messageRoom),
	}, configure)
}

// startTLS starts TLS on a connection to a server.
func (s *Server) startTLS(ctx context.Context, conn *recordmark.Conn, t reach.Target) error {
	cfg, err := s.Flags.TLS.Client(t.Host)
	if err == nil {
		err = s.Flags.TLS.Check()
	}
	if err != nil {
		conn.Close()
		return err
	}
	return conn.RequestTLS(ctx, nfs3.Program, nfs3.Version, cfg)
}
