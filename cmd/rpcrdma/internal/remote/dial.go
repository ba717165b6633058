package remote

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// messageRoom is what a message has besides the data of a READ or WRITE, at most.
const messageRoom = 64 << 10

// dial connects to the server, and makes sure that it is an NFS server.
func (s *Server) dial(ctx context.Context) (oncrpc.Transport, error) {
	limited, cancel := context.WithTimeout(reach.WithTrace(ctx, s.trace), reach.DialTime)
	defer cancel()
	var conn oncrpc.Transport
	at, err := s.Target.Found(limited, s.Flags.RDMA(), rpcrdma.Config{Logger: reach.Quiet, Dialect: s.Flags.Dialect.Value})
	if err == nil {
		conn, err = s.DialScheme(limited, at)
	}
	if err == nil {
		if err = nfsclient.New(conn, s.Cred).Null(limited); err == nil {
			s.notices.connected()
			return conn, nil
		}
		reach.End(conn)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	err = words.Explainer{Asked: s.Target.Rpcbind != 0, Up: s.notices.up}.Explain(at, err)
	s.notices.failed(err)
	return nil, err
}

// DialScheme connects by the scheme of a target whose port is known.
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
	return reach.DialOverRDMA(ctx, t, f.RDMA(), rpcrdma.Config{
		Logger:     reach.Quiet,
		Dialect:    f.Dialect.Value,
		InlineSend: int(f.Inline),
		InlineRecv: int(f.Inline),
		Credits:    f.Credits.N,
		MaxMessage: max(4<<20, int(f.Size)+messageRoom),
	}, s.Cred)
}

// startTLS has TLS on a connection to a server.
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
