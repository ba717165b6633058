package faultnet

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent returns how many bytes sent on a socket have not been acknowledged.
func unsent(socket *net.TCPConn) (n int) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}
