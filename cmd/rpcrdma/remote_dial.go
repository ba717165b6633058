package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// dialTime is how long a connection may take, up to the first answer.
const dialTime = 10 * time.Second

// messageRoom is what a message has besides the data of a READ or WRITE, at most.
const messageRoom = 64 << 10

// dial connects to the server, and makes sure that it is an NFS server.
func (s *remoteServer) dial(ctx context.Context) (oncrpc.Transport, error) {
	limited, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := s.dialScheme(limited)
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
	err = s.explain(err)
	s.notices.failed(err)
	return nil, err
}

// quiet is for connections: what goes wrong comes as an error, too.
var quiet = slog.New(slog.DiscardHandler)

func (s *remoteServer) dialScheme(ctx context.Context) (oncrpc.Transport, error) {
	f := s.flags
	if s.target.scheme == "tcp" {
		cfg := recordmark.Config{
			Logger:    quiet,
			MaxCalls:  f.credits.n,
			MaxRecord: max(recordmark.DefaultMaxRecord, int(f.size)+messageRoom),
		}
		conn, err := recordmark.DialPrivileged(ctx, s.target.addr(), cfg)
		if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
			conn, err = recordmark.Dial(ctx, s.target.addr(), cfg)
		}
		return orNil(conn, err)
	}
	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{Config: iwarp.Config{
		Logger:    quiet,
		CRC:       f.crc.value,
		RecvDepth: max(iwarp.DefaultDepth, 2*f.credits.n), // rpcrdma uses half of it for replies
	}}, s.target.addr(), rpcrdma.Config{
		Logger:     quiet,
		InlineSend: int(f.inline),
		InlineRecv: int(f.inline),
		Credits:    f.credits.n,
		MaxMessage: max(4<<20, int(f.size)+messageRoom),
	})
	return orNil(conn, err)
}

// orNil returns no connection where there is none.
func orNil[T oncrpc.Transport](conn T, err error) (oncrpc.Transport, error) {
	if err != nil {
		return nil, err
	}
	return conn, nil
}
