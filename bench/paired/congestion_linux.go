package paired

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const defaultCongestion = "reno"

func setCongestion(fd uintptr, name string) error {
	if err := unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}
