package paired

import (
	"errors"
	"syscall"
)

// errCongestion says that the system does not let us choose.
var errCongestion = errors.New("congestion control cannot be set on this system")

// Sockets says how the sockets of a scenario are set up: those of the yardstick and of
// the candidate alike.
type Sockets struct {
	Congestion string // TCP congestion control; empty leaves the system's
}

// Control sets up one socket. It is what net.Dialer and net.ListenConfig call Control; a
// connection that is accepted takes after the listening socket.
func (s Sockets) Control(_, _ string, c syscall.RawConn) error {
	if s.Congestion == "" {
		return nil
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = setCongestion(fd, s.Congestion) }); err != nil {
		return err
	}
	return failed
}
