package bth

import (
	"encoding/binary"
	"errors"
)

// Packet is a packet without its ICRC. Only the extended headers of its opcode are used.
type Packet struct {
	Opcode    Opcode
	Solicited bool   // solicited event (SE)
	Migrated  bool   // state of path migration (MigReq); always set when sent
	BECN      bool   // congestion notification
	AckReq    bool   // acknowledgement requested (A)
	PKey      uint16 // partition key
	QP        uint32 // the destination queue pair, 24 bits
	PSN       uint32 // packet sequence number, 24 bits

	DETH       DETH
	RETH       RETH
	AETH       AETH
	Immediate  uint32
	Invalidate uint32 // the R_Key that a Send invalidates (IETH)

	Payload []byte // without padding
}

// DETH is the datagram extended transport header.
type DETH struct {
	QKey uint32
	QP   uint32 // the source, 24 bits
}

// RETH is the RDMA extended transport header: the memory to write or read.
type RETH struct {
	Addr uint64
	RKey uint32
	Len  uint32 // in bytes
}

// AETH is the acknowledge extended transport header.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // message sequence number: messages completed by the responder, 24 bits
}

// DefaultPKey is the partition key of the default partition, full member (annex A17 section
// A17.4.2).
const DefaultPKey = 0xFFFF

// Mask24 masks a queue pair number, a PSN or an MSN.
const Mask24 = 1<<24 - 1

// Errors of Parse, and ErrICRC for a failed Path.Check.
var (
	ErrShort   = errors.New("packet too short")
	ErrVersion = errors.New("wrong transport version")
	ErrOpcode  = errors.New("unknown opcode")
	ErrPad     = errors.New("more padding than payload")
	ErrICRC    = errors.New("wrong ICRC")
)

// Parse decodes a packet that ends with its ICRC, which it does not check. The payload refers to p.
func Parse(p []byte) (h Packet, err error) {
	if len(p) < Len+ICRCLen {
		return h, ErrShort
	}
	if p[1]&0x0F != 0 {
		return h, ErrVersion
	}
	be := binary.BigEndian
	h.Opcode = Opcode(p[0])
	h.Solicited = p[1]&0x80 != 0
	h.Migrated = p[1]&0x40 != 0
	pad := int(p[1] >> 4 & 3)
	h.PKey = be.Uint16(p[2:])
	h.BECN = p[4]&0x40 != 0
	h.QP = be.Uint32(p[4:]) & Mask24
	h.AckReq = p[8]&0x80 != 0
	h.PSN = be.Uint32(p[8:]) & Mask24
	shape := shapes[h.Opcode]
	if shape == 0 {
		return h, ErrOpcode
	}
	n := h.Opcode.HeaderLen()
	rest := len(p) - n - ICRCLen
	if rest < 0 {
		return h, ErrShort
	}
	if rest < pad || shape&hasPayload == 0 && rest != 0 {
		return h, ErrPad
	}
	b := p[Len:n]
	if shape&hasDETH != 0 {
		h.DETH = DETH{be.Uint32(b), be.Uint32(b[4:]) & Mask24}
		b = b[dethLen:]
	}
	if shape&hasRETH != 0 {
		h.RETH = RETH{be.Uint64(b), be.Uint32(b[8:]), be.Uint32(b[12:])}
		b = b[rethLen:]
	}
	if shape&hasAETH != 0 {
		h.AETH = AETH{Syndrome(b[0]), be.Uint32(b) & Mask24}
		b = b[aethLen:]
	}
	if shape&hasImmediate != 0 {
		h.Immediate = be.Uint32(b)
		b = b[immediateLen:]
	}
	if shape&hasIETH != 0 {
		h.Invalidate = be.Uint32(b)
	}
	if shape&hasPayload != 0 {
		h.Payload = p[n : len(p)-ICRCLen-pad]
	}
	return h, nil
}

// Pad returns how many bytes of padding follow a payload of n bytes.
func Pad(n int) int { return -n & 3 }

// Len returns the length of the packet with a payload of n bytes, padding and ICRC included.
func (h *Packet) Len(n int) int { return h.Opcode.HeaderLen() + n + Pad(n) + ICRCLen }

// AppendHeaders appends the BTH and the extended headers for a payload of n bytes.
func (h *Packet) AppendHeaders(b []byte, n int) []byte {
	be := binary.BigEndian
	b = append(b, byte(h.Opcode),
		bit(h.Solicited, 0x80)|bit(h.Migrated, 0x40)|byte(Pad(n))<<4, byte(h.PKey>>8), byte(h.PKey))
	b = be.AppendUint32(b, h.QP|uint32(bit(h.BECN, 0x40))<<24)
	b = be.AppendUint32(b, h.PSN|uint32(bit(h.AckReq, 0x80))<<24)
	shape := shapes[h.Opcode]
	if shape&hasDETH != 0 {
		b = be.AppendUint32(b, h.DETH.QKey)
		b = be.AppendUint32(b, h.DETH.QP)
	}
	if shape&hasRETH != 0 {
		b = be.AppendUint64(b, h.RETH.Addr)
		b = be.AppendUint32(b, h.RETH.RKey)
		b = be.AppendUint32(b, h.RETH.Len)
	}
	if shape&hasAETH != 0 {
		b = be.AppendUint32(b, uint32(h.AETH.Syndrome)<<24|h.AETH.MSN)
	}
	if shape&hasImmediate != 0 {
		b = be.AppendUint32(b, h.Immediate)
	}
	if shape&hasIETH != 0 {
		b = be.AppendUint32(b, h.Invalidate)
	}
	return b
}

func bit(set bool, b byte) byte {
	if set {
		return b
	}
	return 0
}
