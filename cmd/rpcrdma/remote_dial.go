package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// dialTime is how long a connection may take, up to the first answer.
const dialTime = 10 * time.Second

// messageRoom is what a message has besides the data of a READ or WRITE, at most.
const messageRoom = 64 << 10

// dial connects to the server, and makes sure that it is an NFS server.
func (s *remoteServer) dial(ctx context.Context) (oncrpc.Transport, error) {
	limited, cancel := context.WithTimeout(withTrace(ctx, s.trace), dialTime)
	defer cancel()
	var conn oncrpc.Transport
	at, err := s.target.found(limited, s.flags.rdma(), rpcrdma.Config{Logger: quiet, Dialect: s.flags.dialect.value})
	if err == nil {
		conn, err = s.dialScheme(limited, at)
	}
	if err == nil {
		if err = nfsclient.New(conn, s.cred).Null(limited); err == nil {
			s.notices.connected()
			return conn, nil
		}
		end(conn)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	err = explainer{asked: s.target.rpcbind != 0, up: s.notices.up}.explain(at, err)
	s.notices.failed(err)
	return nil, err
}

// quiet is for connections: what goes wrong comes as an error, too.
var quiet = slog.New(slog.DiscardHandler)

func (s *remoteServer) dialScheme(ctx context.Context, t target) (oncrpc.Transport, error) {
	f := s.flags
	if t.scheme == "tcp" {
		cfg := recordmark.Config{
			Logger:    quiet,
			Wrap:      traceOf(ctx).Dialed,
			MaxCalls:  f.credits.n,
			MaxRecord: max(recordmark.DefaultMaxRecord, int(f.size)+messageRoom),
		}
		conn, err := recordmark.DialPrivileged(ctx, t.addr(), cfg)
		if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
			conn, err = recordmark.Dial(ctx, t.addr(), cfg)
		}
		if err == nil && t.tls {
			err = s.startTLS(ctx, conn, t)
		}
		return orNil(conn, err)
	}
	return dialOverRDMA(ctx, t, f.rdma(), rpcrdma.Config{
		Logger:     quiet,
		Dialect:    f.dialect.value,
		InlineSend: int(f.inline),
		InlineRecv: int(f.inline),
		Credits:    f.credits.n,
		MaxMessage: max(4<<20, int(f.size)+messageRoom),
	}, s.cred)
}

// startTLS has TLS on a connection to a server.
func (s *remoteServer) startTLS(ctx context.Context, conn *recordmark.Conn, t target) error {
	cfg, err := s.flags.tls.client(t.host)
	if err == nil {
		err = s.flags.tls.check()
	}
	if err != nil {
		conn.Close()
		return err
	}
	return conn.RequestTLS(ctx, nfs3.Program, nfs3.Version, cfg)
}

// orNil returns no connection where there is none.
func orNil[T oncrpc.Transport](conn T, err error) (oncrpc.Transport, error) {
	if err != nil {
		return nil, err
	}
	return conn, nil
}
