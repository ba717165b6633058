package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// endpoint is an address where an rpcbind may listen.
type endpoint struct{ network, addr string }

// localEndpoints are the addresses where the rpcbind of this machine may listen.
var localEndpoints = []endpoint{
	{"unix", "/run/rpcbind.sock"},
	{"unix", "/var/run/rpcbind.sock"},
	{"tcp", "127.0.0.1:111"},
}

// DialLocal connects to the rpcbind of this machine: over its Unix socket, /run/rpcbind.sock or
// /var/run/rpcbind.sock, or else over TCP at 127.0.0.1:111. The context limits only the dialling.
// The error lists every attempt.
func DialLocal(ctx context.Context) (*Client, error) { return dial(ctx, localEndpoints) }

// Dial connects to an rpcbind. If network is "tcp", addr is HOST:PORT, usually with [Port]; if it
// is "unix", addr is a path. The context limits only the dialling.
func Dial(ctx context.Context, network, addr string) (*Client, error) {
	return dial(ctx, []endpoint{{network, addr}})
}

// dial connects to the first endpoint that can be reached.
func dial(ctx context.Context, endpoints []endpoint) (*Client, error) {
	c := &Client{dial: func(ctx context.Context) (oncrpc.Transport, error) {
		var errs dialErrors
		for _, e := range endpoints {
			conn, err := new(net.Dialer).DialContext(ctx, e.network, e.addr)
			if err == nil {
				return recordmark.NewConn(conn, recordmark.Config{})
			}
			errs = append(errs, fmt.Errorf("%s %s: %w", e.network, e.addr, reason(err)))
		}
		return nil, errs
	}}
	if _, err := c.connection(ctx, nil); err != nil {
		return nil, opError("dial", nil, err)
	}
	return c, nil
}

// dialErrors says why each endpoint could not be reached.
type dialErrors []error

func (e dialErrors) Error() string {
	var all []string
	for _, err := range e {
		all = append(all, err.Error())
	}
	s := strings.Join(all, "; ")
	if len(e) > 1 {
		s = "no rpcbind here: " + s
	}
	return s
}

// Unwrap returns all errors.
func (e dialErrors) Unwrap() []error { return e }

// Timeout reports whether any error is a timeout. The first may be another, such as that of a
// missing socket.
func (e dialErrors) Timeout() bool {
	for _, err := range e {
		var t interface{ Timeout() bool }
		if errors.As(err, &t) && t.Timeout() {
			return true
		}
	}
	return false
}

// reason returns the cause of a dialling error without the address, which not all errors of package
// net contain, and without the name of the system call.
func reason(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		err = call.Err
	}
	return err
}
