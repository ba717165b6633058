//go:build interop

package linux

import (
	"encoding/binary"
	"net/netip"
)

// roceFrame is a UDP datagram to RoCE's port.
type roceFrame struct {
	ip, udp, packet []byte // headers, and everything after them, with the ICRC
	to              string // address
}

const rocePort = 4791

// roceOf returns the RoCE packet in an Ethernet frame, if there is one.
func roceOf(p []byte) (d roceFrame, ok bool) {
	be := binary.BigEndian
	if len(p) < etherHeader+48 {
		return d, false
	}
	b := p[etherHeader:]
	switch {
	case be.Uint16(p[12:]) == 0x0800 && b[9] == 17:
		d.ip, d.udp = b[:20], b[20:be.Uint16(b[2:])]
		d.to = netip.AddrFrom4([4]byte(b[16:])).String()
	case be.Uint16(p[12:]) == 0x86dd && b[6] == 17:
		d.ip, d.udp = b[:40], b[40:40+int(be.Uint16(b[4:]))]
		d.to = netip.AddrFrom16([16]byte(b[24:])).String()
	default:
		return d, false
	}
	d.packet = d.udp[8:]
	d.udp = d.udp[:8]
	return d, be.Uint16(d.udp[2:]) == rocePort && len(d.packet) >= 16
}

// checked reports whether the ICRC is right. It is a CRC-32 over 64 one bits, the IP and UDP
// headers, and the packet. Fields that routers may change count as ones (InfiniBand specification,
// annex A17, section A17.3.3).
func (d roceFrame) checked() bool {
	n := len(d.packet) - 4
	var all []byte
	ones := func(b []byte, at ...int) {
		for _, i := range at {
			b[i] = 0xFF
		}
	}
	all = append(all, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF)
	ip := append([]byte(nil), d.ip...)
	if len(ip) == 20 {
		ones(ip, 1, 8, 10, 11) // type of service, time to live, checksum
	} else {
		ones(ip, 1, 2, 3, 7) // traffic class, flow label, hop limit
		ip[0] |= 0x0F
	}
	udp := append([]byte(nil), d.udp...)
	ones(udp, 6, 7) // checksum
	bth := append([]byte(nil), d.packet[:12]...)
	ones(bth, 4) // FECN, BECN
	all = append(append(append(all, ip...), udp...), bth...)
	crc := ^uint32(0)
	for _, part := range [][]byte{all, d.packet[12:n]} {
		for _, c := range part {
			crc = crc>>8 ^ crcTable[byte(crc)^c]
		}
	}
	return binary.LittleEndian.Uint32(d.packet[n:]) == ^crc
}

// crcTable holds the remainder of each byte for Ethernet's polynomial.
var crcTable = func() (table [256]uint32) {
	for i := range table {
		r := uint32(i)
		for range 8 {
			if r&1 != 0 {
				r = r>>1 ^ 0xEDB88320
			} else {
				r >>= 1
			}
		}
		table[i] = r
	}
	return table
}()
