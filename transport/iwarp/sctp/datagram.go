package sctp

import (
	"context"
	"net"
	"net/netip"
)

// path is where datagrams come from and go to.
type path struct {
	peer  netip.AddrPort
	local netip.Addr // of this host; zero: the system chooses
}

// packetConn carries datagrams.
type packetConn interface {
	receive(p []byte) (n int, from path, err error)
	send(p []byte, to path) error
	LocalAddr() net.Addr
	Close() error
}

// connected is a UDP socket that is connected to one peer.
type connected struct {
	*net.UDPConn
	peer netip.AddrPort
}

func (c connected) receive(p []byte) (int, path, error) {
	n, err := c.Read(p)
	return n, path{peer: c.peer}, err
}

func (c connected) send(p []byte, _ path) error {
	_, err := c.Write(p)
	return err
}

// bound is a UDP socket with one address of this host. The system always answers from that.
type bound struct{ *net.UDPConn }

func (b bound) receive(p []byte) (int, path, error) {
	n, from, err := b.ReadFromUDPAddrPort(p)
	return n, path{peer: unmapped(from)}, err
}

func (b bound) send(p []byte, to path) error {
	_, err := b.WriteToUDPAddrPort(p, to.peer)
	return err
}

// unmapped converts an IPv4-mapped IPv6 address, as an IPv6 socket reports it, to IPv4.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// listening opens a UDP socket that answers each peer from the address to which the peer has sent.
func listening(ctx context.Context, at netip.AddrPort) (packetConn, error) {
	if at.Addr().IsUnspecified() {
		return anyAddress(ctx, at)
	}
	return bindTo(at)
}

func bindTo(at netip.AddrPort) (packetConn, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	return bound{conn}, err
}
