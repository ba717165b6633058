package roce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// socketBuffer is the size in bytes that a socket asks the system for, in each direction. The
	// system gives what it allows (net.core.rmem_max and wmem_max).
	socketBuffer = 4 << 20
	// sendBuffer bounds what waits for the interface, in bytes. More would overrun its queue.
	sendBuffer = 256 << 10

	// ect0 says that the sender obeys congestion marks; ce is such a mark (RFC 3168 section 5).
	ect0 = 0b10
	ce   = 0b11
)

// udpSocket is a UDP socket of Linux.
type udpSocket struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	gso  atomic.Bool // the system cuts messages into datagrams (GSO)

	oob [256]byte // for receive

	// For send; made once.
	headers  [maxMessages]mmsghdr
	iovs     [maxMessages]unix.Iovec
	names4   [maxMessages]unix.RawSockaddrInet4
	names6   [maxMessages]unix.RawSockaddrInet6
	controls [maxMessages][controlLen]byte
	n        int // messages to send
	done     int // messages done
	try      func(fd uintptr) bool
	tryWait  func(fd uintptr) bool
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	sent uint32
}

const controlLen = 24 // CMSG_SPACE(sizeof(uint16))

// openSocket binds the UDP port at a local address.
func openSocket(local netip.Addr) (socket, int, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if cerr := c.Control(func(fd uintptr) { err = setOptions(int(fd), local.Is4()) }); cerr != nil {
			return cerr
		}
		return err
	}}
	pc, err := lc.ListenPacket(context.Background(), "udp",
		netip.AddrPortFrom(local, UDPPort).String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, 0, fmt.Errorf("%w: %w", ErrPortTaken, err)
	}
	if err != nil {
		return nil, 0, err
	}
	s := &udpSocket{conn: pc.(*net.UDPConn)}
	if s.raw, err = s.conn.SyscallConn(); err != nil {
		s.conn.Close()
		return nil, 0, err
	}
	s.gso.Store(true)
	s.try = func(fd uintptr) bool { s.sendSome(fd); return true }
	s.tryWait = s.sendSome
	return s, mtuOf(local), nil
}

func setOptions(fd int, is4 bool) error {
	// Without these the socket is slower, but works.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	_ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	if is4 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, ect0)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
		// Without fragmentation, an unconnected socket sends identification 0 in the first
		// datagram.
		return named("IP_MTU_DISCOVER",
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO))
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, ect0)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
	// rdma_rxe sends no UDP checksum.
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1); err != nil {
		return named("UDP_NO_CHECK6_RX", err)
	}
	return named("IPV6_MTU_DISCOVER",
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO))
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (s *udpSocket) segments() bool { return s.gso.Load() }

func (s *udpSocket) close() { s.conn.Close() }

func (s *udpSocket) receive(b []byte) (n, size int, from netip.AddrPort, marked bool, err error) {
	n, m, _, from, err := s.conn.ReadMsgUDPAddrPort(b, s.oob[:])
	size = n
	for info := s.oob[:max(m, 0)]; len(info) > 0; {
		h, data, rest, err := unix.ParseOneSocketControlMessage(info)
		if err != nil {
			break
		}
		info = rest
		switch {
		case h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			size = int(*(*int32)(unsafe.Pointer(&data[0])))
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS && len(data) >= 1,
			h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS && len(data) >= 1:
			marked = data[0]&ce == ce
		}
	}
	return n, size, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), marked, err
}

func (s *udpSocket) send(all []message, wait bool) int {
	s.n, s.done = min(len(all), maxMessages), 0
	for i := range all[:s.n] {
		s.prepare(i, &all[i])
	}
	f := s.try
	if wait {
		f = s.tryWait
	}
	if err := s.raw.Write(f); err != nil {
		return s.n // the socket is closed: all is lost
	}
	return s.done
}

// prepare fills in the header of a message.
func (s *udpSocket) prepare(i int, m *message) {
	h := &s.headers[i].Msghdr
	*h = unix.Msghdr{Iov: &s.iovs[i]}
	h.SetIovlen(1)
	s.iovs[i].Base = unsafe.SliceData(m.p)
	s.iovs[i].SetLen(len(m.p))
	port := [2]byte{byte(m.to.Port() >> 8), byte(m.to.Port())}
	if a := m.to.Addr(); a.Is4() {
		s.names4[i] = unix.RawSockaddrInet4{
			Family: unix.AF_INET, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: a.As4(),
		}
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.names4[i])), unix.SizeofSockaddrInet4
	} else {
		s.names6[i] = unix.RawSockaddrInet6{
			Family: unix.AF_INET6, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: a.As16(),
		}
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.names6[i])), unix.SizeofSockaddrInet6
	}
	if len(m.p) > m.size {
		c := &s.controls[i]
		cm := (*unix.Cmsghdr)(unsafe.Pointer(c))
		cm.Level, cm.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		cm.SetLen(unix.CmsgLen(2))
		*(*uint16)(unsafe.Pointer(&c[unix.CmsgLen(0)])) = uint16(m.size)
		h.Control = &c[0]
		h.SetControllen(controlLen)
	}
}

// sendSome sends until all is sent. It reports false if the system takes no more.
func (s *udpSocket) sendSome(fd uintptr) bool {
	for s.done < s.n {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.headers[s.done])),
			uintptr(s.n-s.done), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			s.done += int(n)
			continue
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case unix.EIO, unix.EINVAL, unix.EOPNOTSUPP:
			if s.headers[s.done].Control != nil {
				s.gso.Store(false) // the interface computes no checksums
			}
		}
		s.done++ // this message is lost
	}
	runtime.KeepAlive(s)
	return true
}

// mtuOf returns the largest path MTU in bytes for the interface with a local address.
func mtuOf(local netip.Addr) int {
	ifs, _ := net.Interfaces() // without an interface, the minimum is used
	for _, i := range ifs {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			own := p.Addr().Unmap()
			if own == local || own.IsLoopback() && own.Is4() && p.Masked().Contains(local) {
				return pathMTU(i.MTU)
			}
		}
	}
	return minMTU
}

// headroom is the most that a packet has beside its payload, with some to spare. rdma_rxe assumes
// the same (RXE_MAX_HDR_LENGTH).
const headroom = 80

// pathMTU returns the largest path MTU for an interface MTU.
func pathMTU(n int) int {
	for mtu := maxMTU; mtu > minMTU; mtu /= 2 {
		if mtu+headroom <= n {
			return mtu
		}
	}
	return minMTU
}

// route asks the system from which address it would send.
func route(peer netip.Addr) (netip.Addr, int, error) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(peer, UDPPort)))
	if err != nil {
		return netip.Addr{}, 0, err
	}
	defer c.Close()
	local := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	mtu := 0
	raw, err := c.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) {
			if peer.Is4() {
				mtu, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU)
			} else {
				mtu, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
			}
		})
	}
	if local == peer { // The route leads over lo. The other end has the MTU of its own interface.
		return local, min(pathMTU(mtu), mtuOf(peer)), nil
	}
	return local, pathMTU(mtu), nil
}

// askAgain is the interval at which a host is asked whether its port is closed. A datagram or its
// answer may be lost.
const askAgain = 500 * time.Millisecond

// portClosed sends a datagram of one byte, which whoever has the port ignores. If nobody has it,
// the host answers with ICMP, which the system reports to a connected socket.
func portClosed(ctx context.Context, local, peer netip.Addr) bool {
	c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)),
		net.UDPAddrFromAddrPort(netip.AddrPortFrom(peer, UDPPort)))
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	for b := make([]byte, 1); ctx.Err() == nil; {
		_, err := c.Write(b)
		if err == nil {
			_ = c.SetReadDeadline(time.Now().Add(askAgain)) // if it fails, so does Read
			_, err = c.Read(b)
		}
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return true
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return false
		}
	}
	return false
}

// localAddrs returns the addresses of this host, except those that need a zone.
func localAddrs() (all []netip.Addr, err error) {
	addrs, err := net.InterfaceAddrs()
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && !p.Addr().IsLinkLocalUnicast() {
			all = append(all, p.Addr().Unmap())
		}
	}
	return all, err
}
