package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DefaultCongestion is the TCP congestion control that does not slow the loopback interface down by pacing.
const DefaultCongestion = "reno"

func setCongestion(fd uintptr, name string) error {
	if err := unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}
