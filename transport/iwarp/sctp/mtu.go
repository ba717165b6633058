package sctp

import "net/netip"

// Bytes of the headers below an SCTP packet.
const (
	udpHeader  = 8
	ipv4Header = 20
	ipv6Header = 40
)

// defaultMTU is that of a packet where the system does not say what the path has: it fits the least
// path of IPv6, and all but odd ones of IPv4.
const defaultMTU = 1280 - ipv6Header - udpHeader

// packetMTU is the most bytes of an SCTP packet on the path to a peer, as the system knows it now,
// 0 if it does not.
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
