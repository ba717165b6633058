package sctp

import (
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// unbound is a UDP socket with all addresses of this host. The system reports the one at which a
// datagram came, and is told the one to send from.
type unbound struct{ *net.UDPConn }

func anyAddress(conn *net.UDPConn) (packetConn, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var v6, v4 error
	err = raw.Control(func(fd uintptr) { // an IPv6 socket may carry both
		v6 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
		v4 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	})
	if err == nil && v6 != nil {
		err = v4
	}
	return unbound{conn}, err
}

// maxInfo bounds the control messages of a datagram.
const maxInfo = 128

func (u unbound) receive(p []byte) (int, path, error) {
	var info [maxInfo]byte
	n, m, _, from, err := u.ReadMsgUDPAddrPort(p, info[:])
	return n, path{unmapped(from), localOf(info[:m])}, err
}

// localOf returns the address at which a datagram came.
func localOf(info []byte) (local netip.Addr) {
	for len(info) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(info)
		if err != nil {
			break
		}
		info = rest
		switch {
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= 16:
			local = netip.AddrFrom16([16]byte(data)).Unmap()
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(data) >= 12:
			local = netip.AddrFrom4([4]byte(data[8:])) // ipi_addr of struct in_pktinfo
		}
	}
	return local
}

func (u unbound) send(p []byte, to path) error {
	var info []byte
	switch {
	case !to.local.IsValid():
	case to.local.Is4():
		info = unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: to.local.As4()})
	default:
		info = unix.PktInfo6(&unix.Inet6Pktinfo{Addr: to.local.As16()})
	}
	n, _, err := u.WriteMsgUDPAddrPort(p, info, to.peer)
	if err == nil && n < len(p) {
		err = errors.New("a datagram was sent in part")
	}
	return err
}
