package sctp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// unbound is a UDP socket with all addresses of this host. The system reports the one at which a
// datagram came, and is told the one to send from.
type unbound struct{ *net.UDPConn }

func anyAddress(ctx context.Context, at netip.AddrPort) (packetConn, error) {
	lc := net.ListenConfig{Control: reportLocal}
	conn, err := lc.ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, err
	}
	return unbound{conn.(*net.UDPConn)}, nil
}

// reportLocal makes a socket report the address at which each datagram comes. The option of an IPv6
// socket is for IPv4, too.
func reportLocal(network, _ string, raw syscall.RawConn) error {
	level, option := unix.IPPROTO_IP, unix.IP_PKTINFO
	if network == "udp6" {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO
	}
	var err error
	failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, option, 1) })
	return cmp.Or(failed, err)
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
