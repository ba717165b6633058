package cm

import (
	"encoding/binary"
	"net/netip"
)

// Maximum lengths of private data, in bytes.
const (
	REQPrivateLen  = 92 // IP included
	REPPrivateLen  = 196
	REJPrivateLen  = 148
	MRAPrivateLen  = 222
	RTUPrivateLen  = 224
	DREQPrivateLen = 220
	DREPPrivateLen = 224
)

// MTU is the code of a path MTU (IBTA section 9.4.2): 1 for 256 bytes to 5 for 4096.
type MTU uint8

// MTUOf returns the code for 256, 512, 1024, 2048 or 4096 bytes.
func MTUOf(bytes int) MTU {
	m := MTU(1)
	for ; bytes > 256; bytes /= 2 {
		m++
	}
	return m
}

// Bytes returns the path MTU in bytes, or 0 for an invalid code.
func (m MTU) Bytes() int {
	if m < 1 || m > 5 {
		return 0
	}
	return 128 << m
}

// REQ asks for a connection (IBTA section 12.6.5). Its fields for alternate paths, datagrams and
// subnets are left out: RoCE has none of these.
type REQ struct {
	CommID             uint32 // the sender's communication id
	ServiceID          uint64
	CAGUID             uint64 // of the sender's adapter
	QKey               uint32
	QP                 uint32 // 24 bits
	ResponderResources uint8  // RDMA Reads that may be outstanding at the sender
	InitiatorDepth     uint8  // RDMA Reads that the sender may have outstanding
	RemoteTimeout      uint8  // 5 bits: time for the receiver's answer, 4.096 us times 2^n
	Transport          uint8  // 2 bits: 0 is a reliable connection
	FlowControl        bool   // end to end, by credits
	PSN                uint32 // 24 bits: of the first packet to the sender
	LocalTimeout       uint8  // 5 bits: time for the sender's answers
	RetryCount         uint8  // 3 bits
	PKey               uint16
	MTU                MTU
	RNRRetry           uint8 // 3 bits: how often to retry when not ready; 7: no limit
	MaxCMRetries       uint8 // 4 bits
	SRQ                bool
	LocalLID           uint16
	RemoteLID          uint16
	LocalGID           netip.Addr // IPv4 addresses are mapped on the wire
	RemoteGID          netip.Addr
	FlowLabel          uint32 // 20 bits
	PacketRate         uint8  // 6 bits
	TrafficClass       uint8
	HopLimit           uint8
	SubnetLocal        bool
	AckTimeout         uint8 // 5 bits: local ACK timeout

	Private []byte // at most REQPrivateLen bytes; padded when parsed
}

func (*REQ) attribute() Attribute { return attributeREQ }

func (m *REQ) encode(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, m.CommID)
	be.PutUint64(b[8:], m.ServiceID)
	be.PutUint64(b[16:], m.CAGUID)
	be.PutUint32(b[28:], m.QKey)
	put24(b[32:], m.QP)
	b[35] = m.ResponderResources
	b[39] = m.InitiatorDepth
	b[43] = m.RemoteTimeout<<3 | m.Transport&3<<1 | bit(m.FlowControl, 1)
	put24(b[44:], m.PSN)
	b[47] = m.LocalTimeout<<3 | m.RetryCount&7
	be.PutUint16(b[48:], m.PKey)
	b[50] = byte(m.MTU)<<4 | m.RNRRetry&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ, 8)
	be.PutUint16(b[52:], m.LocalLID)
	be.PutUint16(b[54:], m.RemoteLID)
	putGID(b[56:], m.LocalGID)
	putGID(b[72:], m.RemoteGID)
	be.PutUint32(b[88:], m.FlowLabel<<12|uint32(m.PacketRate&0x3F))
	b[92], b[93] = m.TrafficClass, m.HopLimit
	b[94] = bit(m.SubnetLocal, 8)
	b[95] = m.AckTimeout << 3
	copy(b[140:], m.Private)
}

func (m *REQ) decode(b []byte) {
	be := binary.BigEndian
	flow := be.Uint32(b[88:])
	*m = REQ{
		CommID: be.Uint32(b), ServiceID: be.Uint64(b[8:]), CAGUID: be.Uint64(b[16:]),
		QKey: be.Uint32(b[28:]), QP: get24(b[32:]), ResponderResources: b[35], InitiatorDepth: b[39],
		RemoteTimeout: b[43] >> 3, Transport: b[43] >> 1 & 3, FlowControl: b[43]&1 != 0,
		PSN: get24(b[44:]), LocalTimeout: b[47] >> 3, RetryCount: b[47] & 7,
		PKey: be.Uint16(b[48:]), MTU: MTU(b[50] >> 4), RNRRetry: b[50] & 7,
		MaxCMRetries: b[51] >> 4, SRQ: b[51]&8 != 0,
		LocalLID: be.Uint16(b[52:]), RemoteLID: be.Uint16(b[54:]),
		LocalGID: getGID(b[56:]), RemoteGID: getGID(b[72:]),
		FlowLabel: flow >> 12, PacketRate: uint8(flow & 0x3F), TrafficClass: b[92], HopLimit: b[93],
		SubnetLocal: b[94]&8 != 0, AckTimeout: b[95] >> 3,
		Private: b[140:][:REQPrivateLen:REQPrivateLen],
	}
}

func putGID(b []byte, a netip.Addr) {
	if a.IsValid() {
		g := a.As16()
		copy(b, g[:])
	}
}

func getGID(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b[:16])).Unmap() }

func bit(set bool, b byte) byte {
	if set {
		return b
	}
	return 0
}
