package recordmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// ErrNoPrivilegedPort says that DialPrivileged cannot use a port below 1024, because the process
// lacks the privilege or none is free.
var ErrNoPrivilegedPort = errors.New("no port below 1024 to call from")

// DialPrivileged uses the same ports as Linux's RPC client, and leaves the lower ones to well-known
// services.
const (
	firstPrivileged = 665
	lastPrivileged  = 1023
)

// DialPrivileged is Dial from a port below 1024. Most systems reserve these ports for privileged
// processes. Servers that trust the user ids in credentials require them, for example Linux's NFS
// server without the export option "insecure". If no such port is available, the error wraps
// ErrNoPrivilegedPort; a caller that does not need one can then use Dial.
func DialPrivileged(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := dialAgain(ctx, addr)
	if err == nil && conn == nil {
		conn, err = DialPrivilegedTCP(ctx, net.Dialer{}, addr)
	}
	return dialled(conn, err, cfg)
}

// DialPrivilegedTCP makes the TCP connection of DialPrivileged for other protocols, such as iWARP.
// It connects with d, after setting LocalAddr and Control. Its error wraps ErrNoPrivilegedPort like
// that of DialPrivileged.
func DialPrivilegedTCP(ctx context.Context, d net.Dialer, addr string) (net.Conn, error) {
	ports := rand.Perm(lastPrivileged - firstPrivileged + 1)
	for i := range ports {
		ports[i] += firstPrivileged
	}
	return dialFrom(ctx, d, addr, ports)
}

// dialFrom connects from the first port that is available.
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

// bindFailed reports whether binding the local port failed, as opposed to connecting.
func bindFailed(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "bind"
}
