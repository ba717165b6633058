package recordmark

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// dialAny connects from any port that no other socket has, so that the port can be kept. If it were
// left to connect, Linux would share the port among connections to several servers.
func dialAny(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: new(net.TCPAddr)}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if bindFailed(err) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return conn, err
}

// dialAgain connects from the address of a connection that was lost. It returns nil and no error if
// there is no such address, or if it is not free.
func dialAgain(ctx context.Context, addr string) (net.Conn, error) {
	from := oncrpc.DialFrom(ctx)
	if !from.IsValid() {
		return nil, nil
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from), Control: reuse}
	conn, err := d.DialContext(ctx, "tcp", addr)
	var call *os.SyscallError
	connect := errors.As(err, &call) && call.Syscall == "connect" && !taken(err)
	if err == nil || connect || ctx.Err() != nil {
		return conn, err
	}
	return nil, nil
}
