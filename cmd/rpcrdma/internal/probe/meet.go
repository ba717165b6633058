package probe

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// mpaAnswer is the result of an iWARP setup.
type mpaAnswer struct {
	setup *mpa.Setup
	err   error
	path  tcpPath // measured after a call
}

// answered reports whether a frame of MPA came back, even a refusal.
func (a mpaAnswer) answered() bool {
	return a.setup != nil || errors.As(a.err, new(*mpa.RejectError)) ||
		errors.Is(a.err, mpa.ErrInsufficientIRD) || errors.Is(a.err, mpa.ErrNoMatchingRTR) ||
		errors.Is(a.err, mpa.ErrConnectionModel) || errors.Is(a.err, mpa.ErrRevision) ||
		errors.Is(a.err, mpa.ErrFrame) && !errors.Is(a.err, mpa.ErrNotMPA)
}

// meet sets up a connection, makes a call, and closes the connection in order. It must do all of
// this: Linux 6.1 stops listening if a peer leaves before it has sent anything (siw), and crashes
// if it leaves right after the setup (iw_cm).
func (s *scene) meet(ctx context.Context, t reach.Target, crc iwarp.CRC, peerToPeer bool) mpaAnswer {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	f := s.flags.Connections
	over, err := t.Dialer(reach.TraceOf(ctx), reach.RDMAConfig{Log: reach.Quiet, CRC: crc})
	if err != nil {
		return mpaAnswer{err: err}
	}
	d := over.(iwarp.Dialer)
	d.Config.PeerToPeer = peerToPeer
	var tcp *net.TCPConn
	if t.Scheme != reach.SchemeSCTP {
		below := net.Dialer{FallbackDelay: -1} // as iwarp.Dialer has it
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := below.DialContext(ctx, network, addr)
			tcp, _ = c.(*net.TCPConn)
			return c, err
		}
		d.DialContext = reach.TraceOf(ctx).DialContext(dial)
	}
	conn, err := rpcrdma.Dial(ctx, d, t.Addr(), rpcrdma.Config{
		Logger: reach.Quiet, Dialect: f.Dialect.Value, InlineSend: int(f.Inline), InlineRecv: int(f.Inline),
	})
	if err != nil {
		return mpaAnswer{err: err}
	}
	defer reach.End(conn)
	setup, _ := iwarp.SetupOf(conn.Endpoint())
	setup.PrivateData = conn.Info().PrivateData
	_ = s.null(ctx, conn) // another step reports the result
	a := mpaAnswer{setup: &setup}
	if tcp != nil {
		a.path = tcpPathOf(tcp)
	}
	return a
}

// meetRoCE connects, makes a call, and ends the connection in order.
func (s *scene) meetRoCE(ctx context.Context, t reach.Target) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	d, err := t.Dialer(reach.TraceOf(ctx), s.flags.Connections.RDMA())
	if err != nil {
		return err
	}
	conn, err := rpcrdma.Dial(ctx, d, t.Addr(), rpcrdma.Config{
		Logger: reach.Quiet, Dialect: s.flags.Connections.Dialect.Value,
	})
	if err != nil {
		return err
	}
	defer reach.End(conn)
	_ = s.null(ctx, conn) // another step reports the result
	return nil
}

// callBoth calls NULL of NFS and of rpcbind over TCP.
func callBoth(ctx context.Context, addr string) (nfs, other error) {
	cfg := recordmark.Config{Logger: reach.Quiet, Wrap: reach.TraceOf(ctx).Dialed}
	conn, err := recordmark.Dial(ctx, addr, cfg)
	if err != nil {
		return err, err
	}
	defer reach.End(conn)
	var wg sync.WaitGroup
	wg.Go(func() {
		c := oncrpc.NewClient(conn, rpcbind.Program, rpcbind.Version2, oncrpc.AuthNone())
		other = c.Call(ctx, 0, nil, nil)
	})
	c := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, oncrpc.AuthNone())
	nfs = c.Call(ctx, 0, nil, nil)
	wg.Wait()
	return nfs, other
}
