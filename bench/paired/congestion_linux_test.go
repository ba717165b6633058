package paired

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// congestion returns the congestion control of a connection.
func congestion(t *testing.T, c net.Conn) string {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Error(err)
		return ""
	}
	var name string
	err = raw.Control(func(fd uintptr) {
		var failed error
		if name, failed = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); failed != nil {
			t.Error(failed)
		}
	})
	if err != nil {
		t.Error(err)
	}
	return name
}
