package cm

import "encoding/binary"

// Kind is the kind of message that an MRA or a REJ refers to (IBTA sections 12.6.6 and 12.6.7).
type Kind uint8

// Kinds of messages.
const (
	AboutREQ   Kind = 0
	AboutREP   Kind = 1
	AboutOther Kind = 2 // in an MRA a LAP, in a REJ no message
)

// MRA says that a message was received and that the answer takes some time (IBTA section 12.6.6).
type MRA struct {
	Local, Remote  uint32 // communication ids, of the sender and of the receiver
	About          Kind
	ServiceTimeout uint8  // 5 bits: the time, 4.096 us times 2^n
	Private        []byte // at most MRAPrivateLen bytes
}

func (*MRA) attribute() Attribute { return attributeMRA }

func (m *MRA) encode(b []byte) {
	putIDs(b, m.Local, m.Remote)
	b[8] = byte(m.About) << 6
	b[9] = m.ServiceTimeout << 3
	copy(b[10:], m.Private)
}

func (m *MRA) decode(b []byte) {
	*m = MRA{About: Kind(b[8] >> 6), ServiceTimeout: b[9] >> 3, Private: b[10:maxData:maxData]}
	m.Local, m.Remote = getIDs(b)
}

// REJ refuses a connection (IBTA section 12.6.7).
type REJ struct {
	Local, Remote uint32 // communication ids; 0 if there is none
	About         Kind
	Reason        Reason
	Info          []byte // additional rejection information, at most 72 bytes
	Private       []byte // at most REJPrivateLen bytes
}

// maxInfo is the maximum length of REJ.Info in bytes.
const maxInfo = 72

func (*REJ) attribute() Attribute { return attributeREJ }

func (m *REJ) encode(b []byte) {
	putIDs(b, m.Local, m.Remote)
	b[8] = byte(m.About) << 6
	b[9] = byte(copy(b[12:][:maxInfo], m.Info)) << 1
	binary.BigEndian.PutUint16(b[10:], uint16(m.Reason))
	copy(b[84:], m.Private)
}

func (m *REJ) decode(b []byte) {
	n := min(int(b[9]>>1), maxInfo)
	*m = REJ{
		About: Kind(b[8] >> 6), Reason: Reason(binary.BigEndian.Uint16(b[10:])),
		Info: b[12:][:n:n], Private: b[84:maxData:maxData],
	}
	m.Local, m.Remote = getIDs(b)
}

// REP grants a connection (IBTA section 12.6.8).
type REP struct {
	Local, Remote      uint32 // communication ids
	QKey               uint32
	QP                 uint32 // 24 bits
	PSN                uint32 // 24 bits: of the first packet to the sender
	ResponderResources uint8  // RDMA Reads that may be outstanding at the sender
	InitiatorDepth     uint8  // RDMA Reads that the sender may have outstanding
	AckDelay           uint8  // 5 bits
	Failover           uint8  // 2 bits: failover accepted
	FlowControl        bool   // end to end, by credits
	RNRRetry           uint8  // 3 bits: how often to retry when not ready; 7: no limit
	SRQ                bool
	CAGUID             uint64
	Private            []byte // at most REPPrivateLen bytes
}

func (*REP) attribute() Attribute { return attributeREP }

func (m *REP) encode(b []byte) {
	be := binary.BigEndian
	putIDs(b, m.Local, m.Remote)
	be.PutUint32(b[8:], m.QKey)
	put24(b[12:], m.QP)
	put24(b[20:], m.PSN)
	b[24], b[25] = m.ResponderResources, m.InitiatorDepth
	b[26] = m.AckDelay<<3 | m.Failover&3<<1 | bit(m.FlowControl, 1)
	b[27] = m.RNRRetry<<5 | bit(m.SRQ, 0x10)
	be.PutUint64(b[28:], m.CAGUID)
	copy(b[36:], m.Private)
}

func (m *REP) decode(b []byte) {
	be := binary.BigEndian
	*m = REP{
		QKey: be.Uint32(b[8:]), QP: get24(b[12:]), PSN: get24(b[20:]),
		ResponderResources: b[24], InitiatorDepth: b[25],
		AckDelay: b[26] >> 3, Failover: b[26] >> 1 & 3, FlowControl: b[26]&1 != 0,
		RNRRetry: b[27] >> 5, SRQ: b[27]&0x10 != 0, CAGUID: be.Uint64(b[28:]),
		Private: b[36:maxData:maxData],
	}
	m.Local, m.Remote = getIDs(b)
}

// RTU confirms a REP (IBTA section 12.6.9).
type RTU struct {
	Local, Remote uint32 // communication ids
	Private       []byte // at most RTUPrivateLen bytes
}

func (*RTU) attribute() Attribute { return attributeRTU }

func (m *RTU) encode(b []byte) {
	putIDs(b, m.Local, m.Remote)
	copy(b[8:], m.Private)
}

func (m *RTU) decode(b []byte) {
	m.Local, m.Remote = getIDs(b)
	m.Private = b[8:maxData:maxData]
}

// DREQ ends a connection (IBTA section 12.6.10).
type DREQ struct {
	Local, Remote uint32 // communication ids
	QP            uint32 // 24 bits: the receiver's
	Private       []byte // at most DREQPrivateLen bytes
}

func (*DREQ) attribute() Attribute { return attributeDREQ }

func (m *DREQ) encode(b []byte) {
	putIDs(b, m.Local, m.Remote)
	put24(b[8:], m.QP)
	copy(b[12:], m.Private)
}

func (m *DREQ) decode(b []byte) {
	m.Local, m.Remote = getIDs(b)
	m.QP = get24(b[8:])
	m.Private = b[12:maxData:maxData]
}

// DREP confirms a DREQ (IBTA section 12.6.11).
type DREP struct {
	Local, Remote uint32 // communication ids
	Private       []byte // at most DREPPrivateLen bytes
}

func (*DREP) attribute() Attribute { return attributeDREP }

func (m *DREP) encode(b []byte) {
	putIDs(b, m.Local, m.Remote)
	copy(b[8:], m.Private)
}

func (m *DREP) decode(b []byte) {
	m.Local, m.Remote = getIDs(b)
	m.Private = b[8:maxData:maxData]
}

func putIDs(b []byte, local, remote uint32) {
	binary.BigEndian.PutUint32(b, local)
	binary.BigEndian.PutUint32(b[4:], remote)
}

func getIDs(b []byte) (local, remote uint32) {
	return binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
}
