package recordmark

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// dialAny connects from any port. If the port may be needed again (oncrpc.DialFrom), it is one that
// no other socket has. Otherwise it is left to connect: there are few ports, and Linux shares them
// among connections to several servers.
func dialAny(ctx context.Context, addr string) (net.Conn, error) {
	if _, keep := oncrpc.DialFrom(ctx); keep {
		d := net.Dialer{LocalAddr: new(net.TCPAddr)}
		conn, err := d.DialContext(ctx, "tcp", addr)
		if !bindFailed(err) {
			return conn, err
		}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// freeTime is how long dialAgain waits until an address is free. Linux may let go of a socket a
// moment after it was closed, if another thread was just asking whether it could be read.
const freeTime = 500 * time.Millisecond

// dialAgain connects from the address of a connection that was lost. It returns nil and no error if
// there is no such address, or if it is not free.
func dialAgain(ctx context.Context, addr string) (net.Conn, error) {
	from, _ := oncrpc.DialFrom(ctx)
	if !from.IsValid() {
		return nil, nil
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from), Control: reuse}
	pause := time.Millisecond
	for late := time.Now().Add(freeTime); ; pause *= 2 {
		conn, err := d.DialContext(ctx, "tcp", addr)
		var call *os.SyscallError
		connect := errors.As(err, &call) && call.Syscall == "connect" && !taken(err)
		if err == nil || connect || ctx.Err() != nil {
			return conn, err
		}
		if !taken(err) || time.Now().Add(pause).After(late) {
			return nil, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // as the next attempt says
		}
	}
}
