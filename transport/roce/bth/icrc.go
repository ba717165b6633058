package bth

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// The ICRC is a CRC-32, like Ethernet's, over eight bytes of ones in place of the local route
// header, the IP and UDP headers, and the packet (annex A17 section A17.3.3). Ones replace what
// routers may change: type of service, time to live, checksums, flow label, and the byte of the BTH
// with congestion notices.

const (
	routeLen  = 8
	ipv4Len   = 20
	ipv6Len   = 40
	udpLen    = 8
	protoUDP  = 17
	maskedBTH = 4 // the byte with FECN and BECN
)

// Path is what the packets from one UDP socket to another have in common before the BTH. Its
// methods must not be called concurrently.
type Path struct {
	head [routeLen + ipv6Len + udpLen + Len]byte // with the BTH of the current packet
	n    int                                     // bytes before the BTH
}

// NewPath returns the Path of packets from src to dst. Both must be of one family.
func NewPath(src, dst netip.AddrPort) (p Path) {
	be := binary.BigEndian
	b := p.head[:0]
	for range routeLen {
		b = append(b, 0xFF)
	}
	if src.Addr().Is4() {
		s, d := src.Addr().As4(), dst.Addr().As4()
		// 0x40: don't fragment
		b = append(b, 0x45, 0xFF, 0, 0, 0, 0, 0x40, 0, 0xFF, protoUDP, 0xFF, 0xFF)
		b = append(append(b, s[:]...), d[:]...)
	} else {
		s, d := src.Addr().As16(), dst.Addr().As16()
		b = append(b, 0x6F, 0xFF, 0xFF, 0xFF, 0, 0, protoUDP, 0xFF)
		b = append(append(b, s[:]...), d[:]...)
	}
	b = be.AppendUint16(b, src.Port())
	b = be.AppendUint16(b, dst.Port())
	b = append(b, 0, 0, 0xFF, 0xFF)
	p.n = len(b)
	return p
}

// is4 reports whether the packets use IPv4.
func (p *Path) is4() bool { return p.n == routeLen+ipv4Len+udpLen }

// Sum computes the ICRC of a packet, given with padding but without ICRC, for an IPv4 header with
// that identification. With IPv6, id is ignored.
func (p *Path) Sum(id uint16, packet []byte) uint32 {
	b, be := p.head[:p.n+Len], binary.BigEndian
	udp := udpLen + len(packet) + ICRCLen
	if p.is4() {
		be.PutUint16(b[routeLen+2:], uint16(ipv4Len+udp))
		be.PutUint16(b[routeLen+4:], id)
	} else {
		be.PutUint16(b[routeLen+4:], uint16(udp))
	}
	be.PutUint16(b[p.n-4:], uint16(udp))
	copy(b[p.n:], packet[:Len])
	b[p.n+maskedBTH] = 0xFF
	return crc32.Update(crc32.ChecksumIEEE(b), crc32.IEEETable, packet[Len:])
}

// AppendSum appends the ICRC to the packet that begins at b[at].
func (p *Path) AppendSum(b []byte, at int, id uint16) []byte {
	return binary.LittleEndian.AppendUint32(b, p.Sum(id, b[at:]))
}

// Check checks the ICRC at the end of a packet. With IPv4 it returns the identification with which
// the ICRC is right, or false if there is none. With IPv6, id is 0.
func (p *Path) Check(packet []byte) (id uint16, ok bool) {
	n := len(packet) - ICRCLen
	if n < Len || n&3 != 0 || n > maxCovered {
		return 0, false
	}
	wrong := p.Sum(0, packet[:n]) ^ binary.LittleEndian.Uint32(packet[n:])
	if wrong == 0 || !p.is4() {
		return 0, wrong == 0
	}
	return solverOf(n).solve(wrong)
}
