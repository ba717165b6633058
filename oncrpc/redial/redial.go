// Package redial is an oncrpc.Transport that outlives its connections: when one ends, it dials again and
// sends the calls that were under way, and may be sent again (oncrpc.Request.Repeat), once more, with the
// transaction ids that they had.
package redial

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Dial makes a connection.
type Dial func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Conn. The zero value is usable.
type Config struct {
	// Conns is the number of connections over which calls are spread; 0 means 1.
	Conns int
	// Wait is how long calls wait for a connection to come back; 0: not at all, a call under way when
	// its connection ends fails, and the next one dials. Less than 0: for ever.
	Wait time.Duration
	// Stall is how long a connection may go without any reply while calls are under way before
	// it is taken for dead and closed; 0 means 60 s, less than 0 for ever.
	Stall time.Duration
	// Logger is told of connections that end and come back; nil means slog.Default().
	Logger *slog.Logger
}

// Conn is an oncrpc.Transport.
type Conn struct{}

// New dials the first connection; the others follow when they are needed.
func New(ctx context.Context, dial Dial, cfg Config) (*Conn, error) {
	return nil, errors.ErrUnsupported
}

// RoundTrip makes a call.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error { return errors.ErrUnsupported }

// Serve answers calls.
func (c *Conn) Serve(s *oncrpc.Server) {}

// LocalAddr returns an address.
func (c *Conn) LocalAddr() net.Addr { return nil }

// RemoteAddr returns an address.
func (c *Conn) RemoteAddr() net.Addr { return nil }

// Close ends it.
func (c *Conn) Close() error { return nil }

// Done is closed after Close.
func (c *Conn) Done() <-chan struct{} { return nil }

// Err says why it ended.
func (c *Conn) Err() error { return nil }
