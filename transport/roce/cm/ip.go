package cm

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// servicePrefix marks service ids of IP ports (annex A11 section A11.2) with protocol number 6:
// rdma_cm's port space for TCP.
const servicePrefix = 0x0000000001060000

// ServiceID returns the service id of a port.
func ServiceID(port uint16) uint64 { return servicePrefix | uint64(port) }

// ServicePort returns the port of a service id. It reports false if the id is not that of a port.
func ServicePort(id uint64) (port uint16, ok bool) {
	return uint16(id), id&^0xFFFF == servicePrefix
}

// IP is the header at the beginning of a REQ's private data (annex A11 section A11.3).
type IP struct {
	Port     uint16 // of the sender
	Src, Dst netip.Addr
}

// IPLen is the length of an IP in bytes. The upper layer has the rest of REQPrivateLen.
const IPLen = 36

// ErrIP: private data does not begin with IP addresses.
var ErrIP = errors.New("private data without IP addresses")

// ParseIP decodes the header. It returns the rest, which belongs to the upper layer.
func ParseIP(private []byte) (h IP, upper []byte, err error) {
	if len(private) < IPLen || private[0]>>4 != 0 {
		return h, nil, ErrIP
	}
	b := private
	switch b[1] >> 4 {
	case 4:
		h.Src, h.Dst = netip.AddrFrom4([4]byte(b[16:])), netip.AddrFrom4([4]byte(b[32:]))
	case 6:
		h.Src, h.Dst = netip.AddrFrom16([16]byte(b[4:])), netip.AddrFrom16([16]byte(b[20:]))
	default:
		return h, nil, ErrIP
	}
	h.Port = binary.BigEndian.Uint16(b[2:])
	return h, private[IPLen:], nil
}

// Append appends the header. Both addresses must be of one family.
func (h IP) Append(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, IPLen)...)
	p := b[at:]
	binary.BigEndian.PutUint16(p[2:], h.Port)
	if h.Src.Is4() {
		p[1] = 4 << 4
		src, dst := h.Src.As4(), h.Dst.As4()
		copy(p[16:], src[:])
		copy(p[32:], dst[:])
		return b
	}
	p[1] = 6 << 4
	src, dst := h.Src.As16(), h.Dst.As16()
	copy(p[4:], src[:])
	copy(p[20:], dst[:])
	return b
}
