package host

import (
	"errors"
	"syscall"
)

// ErrCongestion says that the system does not let us choose.
var ErrCongestion = errors.New("congestion control cannot be set on this system")

// Sockets says how sockets are set up: those of a yardstick and of
// a candidate alike.
type Sockets struct {
	Congestion string // TCP congestion control; empty leaves the system's
}

// Check finds out whether this process can set up sockets so, and says what it can choose from if
// it cannot.
func (s Sockets) Check() error {
	if s.Congestion == "" {
		return nil
	}
	return checkCongestion(s.Congestion)
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
