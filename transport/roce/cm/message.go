package cm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Len is the length of a MAD in bytes.
const Len = 256

// The queue pair and key of the general service interface, which exchanges MADs.
const (
	QP   = 1
	QKey = 0x80010000 // IBTA section 10.2.5
)

// The header of a MAD (IBTA section 13.4.2).
const (
	headerLen    = 24
	baseVersion  = 1
	class        = 0x07 // communication management (section 16.7)
	classVersion = 2
	methodSend   = 0x03
)

// Attribute says which message a MAD holds (IBTA section 16.7.3).
type Attribute uint16

// Attributes of the messages that this package knows.
const (
	attributeREQ  Attribute = 0x0010
	attributeMRA  Attribute = 0x0011
	attributeREJ  Attribute = 0x0012
	attributeREP  Attribute = 0x0013
	attributeRTU  Attribute = 0x0014
	attributeDREQ Attribute = 0x0015
	attributeDREP Attribute = 0x0016
)

// Message is a pointer to one of REQ, MRA, REJ, REP, RTU, DREQ and DREP.
type Message interface {
	attribute() Attribute
	encode(b []byte) // b has maxData bytes, all zero
	decode(b []byte)
}

// maxData is the length of a MAD without its header.
const maxData = Len - headerLen

// Errors of Parse.
var (
	ErrLength  = errors.New("MAD not 256 bytes long")
	ErrClass   = errors.New("MAD not of communication management version 2")
	ErrUnknown = errors.New("unknown communication management message")
)

// Parse decodes a MAD. It keeps nothing of p. An answer repeats the transaction id.
func Parse(p []byte) (m Message, transaction uint64, err error) {
	if len(p) != Len {
		return nil, 0, ErrLength
	}
	if p[0] != baseVersion || p[1] != class || p[2] != classVersion || p[3] != methodSend {
		return nil, 0, ErrClass
	}
	switch a := Attribute(binary.BigEndian.Uint16(p[16:])); a {
	case attributeREQ:
		m = new(REQ)
	case attributeMRA:
		m = new(MRA)
	case attributeREJ:
		m = new(REJ)
	case attributeREP:
		m = new(REP)
	case attributeRTU:
		m = new(RTU)
	case attributeDREQ:
		m = new(DREQ)
	case attributeDREP:
		m = new(DREP)
	default:
		return nil, 0, fmt.Errorf("%w: attribute %#x", ErrUnknown, uint16(a))
	}
	m.decode(bytes.Clone(p[headerLen:]))
	return m, binary.BigEndian.Uint64(p[8:]), nil
}

// Append appends the MAD of a message. It truncates private data that is too long.
func Append(b []byte, m Message, transaction uint64) []byte {
	be := binary.BigEndian
	b = append(b, baseVersion, class, classVersion, methodSend, 0, 0, 0, 0)
	b = be.AppendUint64(b, transaction)
	b = be.AppendUint16(b, uint16(m.attribute()))
	b = append(b, make([]byte, 6+maxData)...)
	m.encode(b[len(b)-maxData:])
	return b
}

func put24(b []byte, v uint32) {
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}

func get24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
