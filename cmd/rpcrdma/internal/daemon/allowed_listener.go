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

// allowedListener takes the connections of clients in the networks of --allow, and closes others
// before anything is read from them or kept for them.
type allowedListener struct {
	net.Listener
	allow    []netip.Prefix
	excluded *atomic.Uint64 // connections of others
	faults   *faultlog.Log
}

// ListenAllowed listens on a TCP address for the clients of some networks, or for all if there are
// none. It counts the connections of others. Those of clients are traced, if ctx says so.
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

// Accept returns the connection as it is, for who asks whether it is one of TCP.
func (l *allowedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || peerhost.Of(conn.RemoteAddr()).In(l.allow) {
			return conn, err
		}
		l.excluded.Add(1)
		l.faults.Fault(conn.RemoteAddr(), "client refused, whom --allow does not name", nil)
		conn.(*net.TCPConn).SetLinger(0) // a reset, of which nothing stays behind
		conn.Close()
	}
}
