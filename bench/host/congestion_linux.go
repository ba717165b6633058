package host

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultCongestion is a TCP congestion control that does not pace, which would slow down the
// loopback interface.
const DefaultCongestion = "reno"

func setCongestion(fd uintptr, name string) error {
	if err := unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}

// checkCongestion tries to set a congestion control on a socket.
func checkCongestion(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	defer unix.Close(fd)
	err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("there is no congestion control %q: this system has %s", name, listed("available"))
	case errors.Is(err, unix.EPERM): // tcp(7): others need CAP_NET_ADMIN
		return fmt.Errorf("congestion control %q needs privileges; without them use one of: %s",
			name, listed("allowed"))
	}
	return fmt.Errorf("congestion control %q: %w", name, err)
}

// listed returns one of Linux's lists of congestion controls, separated by commas.
func listed(which string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		return "a list that cannot be read: " + err.Error()
	}
	return strings.Join(strings.Fields(string(text)), ", ")
}
