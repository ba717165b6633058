package host

import (
	"errors"
	"syscall"
)

// ErrCongestion means that the system has no choice of congestion control.
var ErrCongestion = errors.New("congestion control cannot be set on this system")

// Sockets says how to set up sockets, so that yardstick and candidate have the same settings.
type Sockets struct {
	Congestion string // TCP congestion control; empty leaves the system's
}

// Check reports whether this process can set up sockets so. If not, the error lists the choices.
func (s Sockets) Check() error {
	if s.Congestion == "" {
		return nil
	}
	return checkCongestion(s.Congestion)
}

// Control sets up one socket, as the Control of net.Dialer or net.ListenConfig. Accepted
// connections inherit the settings of the listening socket.
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
