package recordmark

import (
	"context"
	"errors"
	"math"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Pauses between attempts to accept when the system is short of resources.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Serve accepts connections from l and answers the calls on them with srv. It asks
// ServerConfig.Admit about each connection. It closes l before it returns. Its error is one of
// these:
//
//   - oncrpc.ErrServerClosed after srv.Shutdown or srv.Close;
//   - an *OpError with Op "serve" that wraps the error of ctx. The connections end with ctx, too;
//   - an *OpError with Op "accept" if l fails. It wraps net.ErrClosed if l was closed;
//   - a *oncrpc.ConfigError, before anything is accepted.
func Serve(ctx context.Context, l net.Listener, srv *oncrpc.Server, cfg Config) error {
	ln := &listener{Listener: l, closed: make(chan struct{})}
	defer ln.Close()
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	d := oncrpc.DispatcherOf(srv)
	remove, err := d.AddListener(ln)
	if err != nil {
		return err
	}
	defer remove()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	memory := budget.New[waiter](int64(cfg.Memory))
	defer cfg.Counters.serves(memory)()
	handshakes := budget.New[waiter](maxHandshakes)
	pause := minPause
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = minPause
			info := oncrpc.ConnInfo{Provider: l.Addr().Network(), Local: conn.LocalAddr(), Remote: conn.RemoteAddr()}
			release, err := d.Admit(info)
			if err != nil {
				cfg.Logger.Debug("rpc connection not admitted", "peer", info.Remote, "err", err)
				conn.Close()
				continue
			}
			c := newConn(conn, cfg)
			host := peerhost.Of(conn.RemoteAddr())
			share, reader := new(share), fair.ThisProcess.Join(host)
			memory.Join(&share.Share, host, math.MaxInt64)
			c.receiver.within(share, reader, handshakes)
			stop := context.AfterFunc(ctx, func() { c.fail("serve", ctx.Err()) })
			context.AfterFunc(c.ctx, func() {
				stop()
				<-c.done // until then handlers of its calls may run
				share.leave()
				reader.Leave()
				release()
			})
			c.Serve(srv)
			continue
		}
		select {
		case <-ln.closed:
			return ln.err(ctx)
		default:
		}
		var t interface{ Temporary() bool }
		if !errors.As(err, &t) || !t.Temporary() {
			return &OpError{"accept", l.Addr(), err}
		}
		cfg.Logger.Warn("rpc accept failed", "addr", l.Addr(), "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ln.closed:
		}
		pause = min(2*pause, maxPause)
	}
}

// listener remembers whether it was closed by Shutdown or by the end of the context.
type listener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// err returns the error of Serve after the listener was closed.
func (l *listener) err(ctx context.Context) error {
	if ctx.Err() != nil {
		return &OpError{"serve", l.Addr(), ctx.Err()}
	}
	return oncrpc.ErrServerClosed
}
