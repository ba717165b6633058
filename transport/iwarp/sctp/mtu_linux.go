package sctp

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// pathMTU returns the maximum size in bytes of an IP packet on the path to a peer, or 0 if unknown.
func pathMTU(to netip.AddrPort) (n int) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	level, option := unix.IPPROTO_IPV6, unix.IPV6_MTU
	if to.Addr().Is4() {
		level, option = unix.IPPROTO_IP, unix.IP_MTU
	}
	_ = raw.Control(func(fd uintptr) {
		n, _ = unix.GetsockoptInt(int(fd), level, option)
	})
	return n
}
