package daemon

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Clients logs the first connection of each host, and the end of its last.
// Each appears at most once a minute for a host and a transport.
type Clients struct {
	log *faultlog.Log

	mu    sync.Mutex // guards what follows
	hosts map[peerhost.Host]*client
}

// client is a host with connections.
type client struct {
	now, ever int // connections
	since     time.Time
}

// NewClients returns a log of clients that come and go.
func NewClients(log *slog.Logger) *Clients {
	return &Clients{log: faultlog.New(log), hosts: make(map[peerhost.Host]*client)}
}

// Began is oncrpc.ServerConfig.ConnBegan.
func (cs *Clients) Began(t oncrpc.Transport) {
	cs.mu.Lock()
	host := peerhost.Of(t.RemoteAddr())
	c := cs.hosts[host]
	first := c == nil
	if first {
		c = &client{since: time.Now()}
		cs.hosts[host] = c
	}
	c.now++
	c.ever++
	cs.mu.Unlock()
	if first {
		cs.log.Event(t.RemoteAddr(), "a client has come", carrierOf(t), "over", carrierOf(t))
	}
}

// Ended is oncrpc.ServerConfig.ConnEnded.
func (cs *Clients) Ended(t oncrpc.Transport, err error) {
	cs.mu.Lock()
	host := peerhost.Of(t.RemoteAddr())
	c := cs.hosts[host]
	c.now--
	last := c.now == 0
	if last {
		delete(cs.hosts, host)
	}
	cs.mu.Unlock()
	if !last {
		return
	}
	args := []any{
		"over", carrierOf(t), "connections", c.ever, "after", time.Since(c.since).Round(time.Millisecond),
	}
	if !errors.Is(err, net.ErrClosed) { // else one side has closed it in order
		args = append(args, "err", err)
	}
	cs.log.Event(t.RemoteAddr(), "a client has gone", nil, args...)
}

// carrierOf names what carries the calls of a connection.
func carrierOf(t oncrpc.Transport) string {
	if conn, ok := t.(*rpcrdma.Conn); ok {
		return conn.Endpoint().Info().Provider
	}
	return "tcp"
}
