package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

const (
	// requestReads is how many reads of small calls a request for metrics costs: about 2 ms.
	requestReads = 150
	// maxRequests is how many requests a port answers at a time.
	maxRequests = 8
)

// httpListener has hosts share the connections and requests of an HTTPPort, and the processors with
// the clients of the other ports. What is beyond a host's share is refused at once: whoever holds
// connections keeps no other host out.
type httpListener struct {
	net.Listener
	flag     string
	conns    *fair.Shares
	requests *fair.Shares // under way
	faults   *faultlog.Log
	refused  atomic.Uint64 // connections and requests
}

func newHTTPListener(l net.Listener, flag string, log *slog.Logger) *httpListener {
	return &httpListener{
		Listener: l, flag: flag, faults: faultlog.New(log),
		conns: fair.New(int64(FindRoom().HTTP)), requests: fair.New(maxRequests),
	}
}

// Accept returns an *httpConn.
func (l *httpListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := peerhost.Of(conn.RemoteAddr())
		if l.conns.Take(host, 1) {
			c := &httpConn{Conn: conn, reader: fair.ThisProcess.Join(host)}
			c.leave = sync.OnceFunc(func() {
				c.reader.Leave()
				l.conns.Give(host, 1)
			})
			return c, nil
		}
		l.refuse(conn.RemoteAddr(), "refused an HTTP connection: the host has its share")
		conn.(*net.TCPConn).SetLinger(0) // a reset leaves no state behind
		conn.Close()
	}
}

// refuse counts and logs that a peer is refused.
func (l *httpListener) refuse(peer net.Addr, what string) {
	l.refused.Add(1)
	l.faults.Fault(peer, what, l.flag, "flag", l.flag)
}

// httpConn is a connection of an HTTPPort.
type httpConn struct {
	net.Conn
	reader fair.Reader
	leave  func()
}

func (c *httpConn) Read(p []byte) (int, error) {
	c.reader.Await()
	return c.Conn.Read(p)
}

func (c *httpConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// httpConnKey is the key of a request's *httpConn in its context.
type httpConnKey struct{}

func withHTTPConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, httpConnKey{}, c)
}

// share answers what is within a host's share of requests, which the host is charged for.
func (l *httpListener) share(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(httpConnKey{}).(*httpConn)
		c.reader.Charge(requestReads)
		c.reader.Await()
		host := peerhost.Of(c.RemoteAddr())
		if !l.requests.Take(host, 1) {
			l.refuse(c.RemoteAddr(), "refused an HTTP request: the host has its share")
			http.Error(w, "this host has too many requests under way", http.StatusServiceUnavailable)
			return
		}
		defer l.requests.Give(host, 1)
		h.ServeHTTP(w, r)
	})
}
