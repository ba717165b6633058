package capture

import (
	"encoding/binary"
	"errors"
)

// tcpSegment is the TCP segment in a packet.
type tcpSegment struct {
	from, to endpoint
	seq      uint32
	syn, fin bool
	ack      bool
	payload  []byte
}

type endpoint struct {
	addr [4]byte
	port uint16
}

var (
	errNotTCP    = errors.New("not TCP over IPv4 over Ethernet")
	errFragment  = errors.New("IP fragment")
	errBadLength = errors.New("lengths of the headers and of the packet disagree")
	errReset     = errors.New("connection reset")
)

const (
	etherLen    = 14
	etherIPv4   = 0x0800
	ipMinLen    = 20
	ipProtoTCP  = 6
	ipFragments = 0x3fff // more fragments, and the fragment offset
	tcpMinLen   = 20

	tcpFIN = 0x01
	tcpSYN = 0x02
	tcpRST = 0x04
	tcpACK = 0x10
)

// parseFrame parses an Ethernet frame.
func parseFrame(frame []byte) (tcpSegment, error) {
	var s tcpSegment
	if len(frame) < etherLen+ipMinLen || binary.BigEndian.Uint16(frame[12:]) != etherIPv4 {
		return s, errNotTCP
	}
	ip := frame[etherLen:]
	if ip[0]>>4 != 4 || ip[9] != ipProtoTCP {
		return s, errNotTCP
	}
	if binary.BigEndian.Uint16(ip[6:])&ipFragments != 0 {
		return s, errFragment
	}
	ipLen, total := int(ip[0]&0xf)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if ipLen < ipMinLen || total > len(ip) || total < ipLen+tcpMinLen {
		return s, errBadLength
	}
	tcp := ip[ipLen:total] // what follows is padding of short frames
	tcpLen := int(tcp[12]>>4) * 4
	if tcpLen < tcpMinLen || tcpLen > len(tcp) {
		return s, errBadLength
	}
	flags := tcp[13]
	if flags&tcpRST != 0 {
		return s, errReset
	}
	s.from = endpoint{[4]byte(ip[12:16]), binary.BigEndian.Uint16(tcp[0:])}
	s.to = endpoint{[4]byte(ip[16:20]), binary.BigEndian.Uint16(tcp[2:])}
	s.seq = binary.BigEndian.Uint32(tcp[4:])
	s.syn, s.fin, s.ack = flags&tcpSYN != 0, flags&tcpFIN != 0, flags&tcpACK != 0
	s.payload = tcp[tcpLen:]
	return s, nil
}
