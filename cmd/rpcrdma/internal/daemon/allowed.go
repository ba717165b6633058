package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Allowed admits clients from the networks of --allow, at all ports of a command. It counts and
// logs the others.
type Allowed struct {
	networks []netip.Prefix // none: all
	faults   *faultlog.Log
	excluded atomic.Uint64
}

// NewAllowed returns an Allowed for clients in networks, or for all clients if there are none.
func NewAllowed(networks []netip.Prefix, log *slog.Logger) *Allowed {
	return &Allowed{networks: networks, faults: faultlog.New(log)}
}

// Admits reports whether a client may connect.
func (a *Allowed) Admits(peer net.Addr) bool {
	if len(a.networks) == 0 || peerhost.Of(peer).In(a.networks) {
		return true
	}
	a.excluded.Add(1)
	a.faults.Fault(peer, "refused a client that --allow does not name", nil)
	return false
}

// Excluded returns how many connections were refused.
func (a *Allowed) Excluded() uint64 { return a.excluded.Load() }

// Listen listens on a TCP address. It closes connections of other clients before it reads from them
// or allocates anything for them. Accepted ones are traced if ctx has a trace.
func (a *Allowed) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return reach.TraceOf(ctx).Listener(&allowedListener{l, a}), nil
}

type allowedListener struct {
	net.Listener
	allowed *Allowed
}

// Accept returns the connection unwrapped, because callers check whether it is a *net.TCPConn.
func (l *allowedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.allowed.Admits(conn.RemoteAddr()) {
			return conn, err
		}
		conn.(*net.TCPConn).SetLinger(0) // a reset leaves no state behind
		conn.Close()
	}
}
