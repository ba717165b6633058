package trace

import (
	"encoding/binary"
	"net/netip"
)

// IP protocol numbers.
const (
	protocolTCP = 6
	protocolUDP = 17
)

// hops is the TTL or hop limit.
const hops = 64

// Flags of TCP (RFC 9293 section 3.1).
const (
	flagFIN = 0x01
	flagSYN = 0x02
	flagRST = 0x04
	flagPSH = 0x08
	flagACK = 0x10
)

// sameFamily converts two addresses to one family: an IPv4 address beside an IPv6 address becomes
// an IPv4-mapped one (RFC 4291 section 2.5.5.2).
func sameFamily(a, b netip.AddrPort) [2]netip.AddrPort {
	ends := [2]netip.AddrPort{a, b}
	for i, e := range ends {
		ends[i] = netip.AddrPortFrom(e.Addr().Unmap().WithZone(""), e.Port())
	}
	if ends[0].Addr().Is4() == ends[1].Addr().Is4() {
		return ends
	}
	for i, e := range ends {
		ends[i] = netip.AddrPortFrom(netip.AddrFrom16(e.Addr().As16()), e.Port())
	}
	return ends
}

// ipLen returns the length of the IP header of packets from an address.
func ipLen(src netip.Addr) int {
	if src.Is4() {
		return 20
	}
	return 40
}

// appendIP appends an IP header for n bytes of payload (RFC 791 section 3.1, RFC 8200 section 3).
func appendIP(b []byte, src, dst netip.Addr, protocol byte, n int) []byte {
	be := binary.BigEndian
	if !src.Is4() {
		b = append(b, 0x60, 0, 0, 0)
		b = be.AppendUint16(b, uint16(n))
		b = append(b, protocol, hops)
		b = append(b, src.AsSlice()...)
		return append(b, dst.AsSlice()...)
	}
	begin := len(b)
	b = append(b, 0x45, 0)
	b = be.AppendUint16(b, uint16(20+n))
	b = append(b, 0, 0, 0x40, 0, hops, protocol, 0, 0) // don't fragment
	b = append(b, src.AsSlice()...)
	b = append(b, dst.AsSlice()...)
	be.PutUint16(b[begin+10:], ^fold(sum(0, b[begin:])))
	return b
}

// sum adds the 16-bit words of p to a checksum (RFC 1071). Only the last p may have an odd length.
func sum(s uint64, p []byte) uint64 {
	for ; len(p) >= 4; p = p[4:] {
		s += uint64(binary.BigEndian.Uint32(p)) // two words, since 1<<16 is 1 modulo 1<<16-1
	}
	for i, c := range p {
		s += uint64(c) << (24 - 8*i)
	}
	return s
}

func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// checksum returns the checksum of TCP or UDP, with the pseudo-header (RFC 9293 section 3.1, RFC
// 8200 section 8.1).
func checksum(src, dst netip.Addr, protocol byte, p []byte) uint16 {
	s := sum(sum(0, src.AsSlice()), dst.AsSlice()) + uint64(protocol) + uint64(len(p))
	return ^fold(sum(s, p))
}

// udp adds a datagram; w.mu is held.
func (w *Writer) udp(src, dst netip.AddrPort, p []byte) {
	be := binary.BigEndian
	var header [8]byte
	b := be.AppendUint16(header[:0], src.Port())
	b = be.AppendUint16(b, dst.Port())
	b = be.AppendUint16(b, uint16(len(header)+len(p)))
	b = be.AppendUint16(b, 0)
	const place = 6
	w.add(src.Addr(), dst.Addr(), protocolUDP, b, place, p)
}

// scale is the window scale in SYNs (RFC 7323 section 2). The window is 1 GiB, which is never full.
const scale = 14

// tcp adds a segment; w.mu is held.
func (w *Writer) tcp(src, dst netip.AddrPort, seq, ack uint32, flags byte, p []byte) {
	be := binary.BigEndian
	var header [28]byte
	b := be.AppendUint16(header[:0], src.Port())
	b = be.AppendUint16(b, dst.Port())
	b = be.AppendUint32(b, seq)
	b = be.AppendUint32(b, ack)
	b = append(b, 0, flags)
	b = be.AppendUint16(b, 0xffff) // window
	b = append(b, 0, 0, 0, 0)
	if flags&flagSYN != 0 {
		b = append(b, 2, 4, maxSegment>>8, maxSegment&0xff) // the MSS (RFC 9293 section 3.2)
		b = append(b, 3, 3, scale, 0)                       // and the end of options
	}
	b[12] = byte(len(b) / 4 << 4)
	const place = 16
	w.add(src.Addr(), dst.Addr(), protocolTCP, b, place, p)
}
