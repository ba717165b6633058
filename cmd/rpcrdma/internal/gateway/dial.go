package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// dialTime is how long it may take to connect to a server, or to find MOUNT.
const dialTime = 20 * time.Second

// config is the configuration of package gateway.
func (g *running) config() gateway.Config {
	cfg := gateway.Config{
		MaxReply:    int(g.cfg.maxReply),
		DialTimeout: dialTime,
		Logger:      g.log,
	}
	if g.watched.Port != nil {
		cfg.CallEnded = g.watched.GatewayCall
	}
	cfg.Dial = func(ctx context.Context) (oncrpc.Transport, error) {
		_, conn, err := g.connect(ctx)
		return conn, err
	}
	mount := gateway.Route{Dial: g.findMount, IfUnavailable: true}
	if m := g.cfg.mount; m != nil {
		mount = gateway.Route{Dial: func(ctx context.Context) (oncrpc.Transport, error) { return g.dial(ctx, *m) }}
	}
	cfg.Routes = map[uint32]gateway.Route{mount3.Program: mount}
	return cfg
}

// connect finds the server, and connects to it.
func (g *running) connect(ctx context.Context) (at reach.Target, conn oncrpc.Transport, err error) {
	ctx = reach.WithTrace(ctx, g.trace) // the context of package gateway has no trace
	c := g.cfg
	at, err = c.server.Found(ctx, g.rdma(ctx),
		rpcrdma.Config{Logger: g.log, Dialect: c.dialect.Value})
	if err == nil {
		conn, err = g.dial(ctx, at)
	}
	return at, conn, err
}

// dial connects to a server.
func (g *running) dial(ctx context.Context, t reach.Target) (oncrpc.Transport, error) {
	ctx = reach.WithTrace(ctx, g.trace)
	if t.Scheme == "tcp" {
		return g.dialTCP(ctx, t.Addr())
	}
	c := g.cfg
	self := remote.OwnIdentity()
	cred, err := self.Cred()
	if err != nil {
		return nil, err
	}
	return reach.DialOverRDMA(ctx, t, g.rdma(ctx), rpcrdma.Config{
		Logger:     g.log,
		Dialect:    c.dialect.Value,
		InlineSend: int(c.inline),
		InlineRecv: int(c.inline),
		Credits:    c.credits.N,
		MaxMessage: max(recordmark.DefaultMaxRecord, gateway.Config{MaxReply: int(c.maxReply)}.MaxMessage()),
		// With it, the header for the largest reply fits in the smallest message.
		SegmentSize: 4 << 20,
		Observer:    &g.ways,
		Counters:    g.watched.RDMA(),
	}, cred)
}

// rdma returns how to connect over RDMA.
func (g *running) rdma(ctx context.Context) reach.RDMAConfig {
	return reach.RDMAConfig{Log: g.log, CRC: g.cfg.crc.Value, Counted: g.watched.Metrics,
		AnyPort: !privileged(ctx)}
}

// privileged reports whether the client calls from a port below 1024. Only then may the gateway do
// so: otherwise it would pass on every client as a privileged process.
func privileged(ctx context.Context) bool {
	a, ok := gateway.ClientAddr(ctx).(*net.TCPAddr)
	return ok && a.Port < 1024
}

// dialTCP connects over TCP.
func (g *running) dialTCP(ctx context.Context, addr string) (oncrpc.Transport, error) {
	cfg := recordmark.Config{
		Logger:    g.log,
		MaxRecord: gateway.Config{MaxReply: int(g.cfg.maxReply)}.MaxMessage(),
		MaxCalls:  g.cfg.credits.N,
		Counters:  g.watched.TCP(),
		Wrap:      g.trace.Dialed,
	}
	dial := recordmark.Dial
	if privileged(ctx) {
		dial = recordmark.DialPrivileged
	}
	conn, err := dial(ctx, addr, cfg)
	if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
		conn, err = recordmark.Dial(ctx, addr, cfg)
	}
	if err == nil && reaches(conn, g.ports.TCP.Addr().(*net.TCPAddr)) {
		conn.Close()
		return nil, fmt.Errorf("MOUNT at %s is the gateway itself: name the MOUNT of the server with --mount-to", addr)
	}
	return reach.OrNil(conn, err)
}

// reaches reports whether a connection leads to a listener of this process.
func reaches(c *recordmark.Conn, l *net.TCPAddr) bool {
	from, to := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
	return to.Port == l.Port &&
		(to.IP.Equal(l.IP) || l.IP.IsUnspecified() && (to.IP.IsLoopback() || to.IP.Equal(from.IP)))
}

// findMount connects to MOUNT on the server's host, at the port that rpcbind there names.
func (g *running) findMount(ctx context.Context) (oncrpc.Transport, error) {
	service, err := nfsmount.FindService(ctx, nil, nfsmount.Config{Host: g.cfg.server.Host, Dial: g.dialTCP})
	if err != nil {
		return nil, err
	}
	return service.TakeTransport(), nil
}
