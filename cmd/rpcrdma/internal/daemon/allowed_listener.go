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

// allowedListener accepts connections from the networks of --allow. It closes others before it
// reads from them or allocates anything for them.
type allowedListener struct {
	net.Listener
	allow    []netip.Prefix
	excluded *atomic.Uint64 // refused connections
	faults   *faultlog.Log
}

// ListenAllowed listens on a TCP address for clients in the networks allow, or for all clients if
// allow is empty. It counts refused connections in excluded. Accepted ones are traced if ctx has a
// trace.
func ListenAllowed(ctx context.Context, addr string, allow []netip.Prefix, excluded *atomic.Uint64,
	log *slog.Logger) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if len(allow) > 0 {
		l = &allowedListener{l, allow, excluded, faultlog.New(log)}
	}
	return reach.TraceOf(ctx).Listener(l), nil
}

// Accept returns the connection unwrapped, because callers check whether it is a *net.TCPConn.
func (l *allowedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || peerhost.Of(conn.RemoteAddr()).In(l.allow) {
			return conn, err
		}
		l.excluded.Add(1)
		l.faults.Fault(conn.RemoteAddr(), "refused a client that --allow does not name", nil)
		conn.(*net.TCPConn).SetLinger(0) // a reset leaves no state behind
		conn.Close()
	}
}
