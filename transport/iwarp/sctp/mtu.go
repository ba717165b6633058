package sctp

import "net/netip"

// Lengths in bytes of the headers below an SCTP packet.
const (
	udpHeader  = 8
	ipv4Header = 20
	ipv6Header = 40
)

// defaultMTU is the packet size if the system does not know the path. It fits the minimum path of
// IPv6, and all but unusual ones of IPv4.
const defaultMTU = 1280 - ipv6Header - udpHeader

// packetMTU returns the maximum size in bytes of an SCTP packet on the path to a peer, as the
// system knows it now, or 0 if unknown.
func packetMTU(to netip.AddrPort) int {
	n := pathMTU(to)
	if n == 0 {
		return 0
	}
	ip := ipv6Header
	if to.Addr().Is4() {
		ip = ipv4Header
	}
	return min(max(n-ip-udpHeader, minMTU), maxMTU) &^ 3
}
