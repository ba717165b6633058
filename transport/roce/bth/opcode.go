package bth

// Opcode is the kind of a packet (IBTA section 9.2, table 38).
type Opcode uint8

// Opcodes of reliable connections (RC), of datagrams to the connection manager (UD), and of the
// congestion notification packet (annex A17 section A17.9.3).
const (
	SendFirst          Opcode = 0x00
	SendMiddle         Opcode = 0x01
	SendLast           Opcode = 0x02
	SendLastImmediate  Opcode = 0x03
	SendOnly           Opcode = 0x04
	SendOnlyImmediate  Opcode = 0x05
	WriteFirst         Opcode = 0x06
	WriteMiddle        Opcode = 0x07
	WriteLast          Opcode = 0x08
	WriteLastImmediate Opcode = 0x09
	WriteOnly          Opcode = 0x0A
	WriteOnlyImmediate Opcode = 0x0B
	ReadRequest        Opcode = 0x0C
	ReadFirst          Opcode = 0x0D // of a response
	ReadMiddle         Opcode = 0x0E
	ReadLast           Opcode = 0x0F
	ReadOnly           Opcode = 0x10
	Acknowledge        Opcode = 0x11
	CompareSwap        Opcode = 0x13 // an atomic operation; its header stays in the payload
	FetchAdd           Opcode = 0x14 // likewise
	SendLastInvalidate Opcode = 0x16
	SendOnlyInvalidate Opcode = 0x17
	Datagram           Opcode = 0x64 // UD Send Only
	CNP                Opcode = 0x81
)

// headers is a set of extended headers, in the order on the wire.
type headers uint8

const (
	hasDETH headers = 1 << iota
	hasRETH
	hasAETH
	hasImmediate
	hasIETH
	hasPayload
	known
)

// shapes has the headers of the opcodes that Parse knows.
var shapes = [256]headers{
	SendFirst:          known | hasPayload,
	SendMiddle:         known | hasPayload,
	SendLast:           known | hasPayload,
	SendLastImmediate:  known | hasPayload | hasImmediate,
	SendOnly:           known | hasPayload,
	SendOnlyImmediate:  known | hasPayload | hasImmediate,
	WriteFirst:         known | hasPayload | hasRETH,
	WriteMiddle:        known | hasPayload,
	WriteLast:          known | hasPayload,
	WriteLastImmediate: known | hasPayload | hasImmediate,
	WriteOnly:          known | hasPayload | hasRETH,
	WriteOnlyImmediate: known | hasPayload | hasRETH | hasImmediate,
	ReadRequest:        known | hasRETH,
	ReadFirst:          known | hasPayload | hasAETH,
	ReadMiddle:         known | hasPayload,
	ReadLast:           known | hasPayload | hasAETH,
	ReadOnly:           known | hasPayload | hasAETH,
	Acknowledge:        known | hasAETH,
	CompareSwap:        known | hasPayload,
	FetchAdd:           known | hasPayload,
	SendLastInvalidate: known | hasPayload | hasIETH,
	SendOnlyInvalidate: known | hasPayload | hasIETH,
	Datagram:           known | hasPayload | hasDETH,
	CNP:                known | hasPayload,
}

// Lengths of headers, in bytes.
const (
	Len      = 12 // of a BTH
	ICRCLen  = 4
	MaxExtra = rethLen + immediateLen // of extended headers

	dethLen      = 8
	rethLen      = 16
	aethLen      = 4
	immediateLen = 4
	iethLen      = 4
)

// HeaderLen returns the length in bytes of all headers of a packet with this opcode.
func (o Opcode) HeaderLen() int {
	n := Len
	for _, h := range [...]struct {
		has headers
		len int
	}{{hasDETH, dethLen}, {hasRETH, rethLen}, {hasAETH, aethLen}, {hasImmediate, immediateLen},
		{hasIETH, iethLen}} {
		if shapes[o]&h.has != 0 {
			n += h.len
		}
	}
	return n
}

// IsResponse reports whether a responder sends packets with this opcode to a requester.
func (o Opcode) IsResponse() bool { return o >= ReadFirst && o <= Acknowledge }
