package probe

import (
	"net"

	"golang.org/x/sys/unix"
)

// tcpPathOf asks the kernel about a connection.
func tcpPathOf(conn *net.TCPConn) tcpPath {
	raw, err := conn.SyscallConn()
	if err != nil {
		return tcpPath{}
	}
	var info *unix.TCPInfo
	if raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}) != nil || err != nil {
		return tcpPath{}
	}
	return tcpPath{mtu: int(info.Pmtu), mss: int(info.Snd_mss)}
}
