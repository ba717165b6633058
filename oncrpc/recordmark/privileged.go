package recordmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// ErrNoPrivilegedPort: DialPrivileged has no port below 1024 to call from, because the process may
// not have one, or because none is free.
var ErrNoPrivilegedPort = errors.New("no port below 1024 to call from")

// The ports that are tried are those that Linux's own RPC client takes, so that those below are
// left to the services that are known by them.
const (
	firstPrivileged = 665
	lastPrivileged  = 1023
)

// DialPrivileged is Dial from a port below 1024, which only the privileged can have on most
// systems. Servers that trust the user numbers in credentials, such as Linux's NFS server unless
// told otherwise (the export option "insecure"), want calls to come from there. The error wraps
// ErrNoPrivilegedPort if there is none to have: whoever can do with less calls Dial then.
func DialPrivileged(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := DialPrivilegedTCP(ctx, net.Dialer{}, addr)
	if err != nil {
		return nil, &OpError{Op: "dial", Err: err}
	}
	return newConn(cfg.wrap(conn), cfg), nil
}

// DialPrivilegedTCP makes the connection of DialPrivileged for what is not record marking, such as
// iWARP. It connects by d, whose LocalAddr and Control it sets. The error wraps ErrNoPrivilegedPort
// as that of DialPrivileged does.
func DialPrivilegedTCP(ctx context.Context, d net.Dialer, addr string) (net.Conn, error) {
	ports := rand.Perm(lastPrivileged - firstPrivileged + 1)
	for i := range ports {
		ports[i] += firstPrivileged
	}
	return dialFrom(ctx, d, addr, ports)
}

// dialFrom connects from the first of ports that can be had.
func dialFrom(ctx context.Context, d net.Dialer, addr string, ports []int) (net.Conn, error) {
	var err error
	d.Control = reuse
	for _, port := range ports {
		d.LocalAddr = &net.TCPAddr{Port: port}
		var conn net.Conn
		if conn, err = d.DialContext(ctx, "tcp", addr); err == nil {
			return conn, nil
		}
		switch {
		case forbidden(err):
			return nil, fmt.Errorf("%w: %w", ErrNoPrivilegedPort, err)
		case !taken(err):
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNoPrivilegedPort, err)
}

// bindFailed reports whether it was the choice of the local port that failed, and not the
// connection.
func bindFailed(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "bind"
}
