package rdmap

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Opcode is the kind of a message (RFC 5040 section 4.1).
type Opcode uint8

// The opcodes. 8 to 15 are reserved by RFC 5040.
const (
	OpWrite            Opcode = 0
	OpReadRequest      Opcode = 1
	OpReadResponse     Opcode = 2
	OpSend             Opcode = 3
	OpSendInvalidate   Opcode = 4
	OpSendSE           Opcode = 5 // with Solicited Event
	OpSendSEInvalidate Opcode = 6
	OpTerminate        Opcode = 7
)

// The control octet of RDMAP (RFC 5040 section 4.1): version, two reserved bits, opcode.
const (
	versionShift = 6
	maskOpcode   = 0x0f
)

// Control returns the control octet of a message, for ddp.Header.Control. The version must be that
// of DDP (RFC 5040 section 4.1, draft-carrier-rddp-rnic-interop-00 section 5.1).
func Control(version uint8, op Opcode) byte { return version<<versionShift | byte(op)&maskOpcode }

// ParseControl splits a control octet. It ignores reserved bits, and checks neither value.
func ParseControl(b byte) (version uint8, op Opcode) {
	return b >> versionShift, Opcode(b & maskOpcode)
}

// Valid reports whether RFC 5040 defines o.
func (o Opcode) Valid() bool { return o <= OpTerminate }

// Tagged reports whether messages of kind o use DDP's tagged model.
func (o Opcode) Tagged() bool { return o == OpWrite || o == OpReadResponse }

// Queue returns the untagged queue for messages of kind o (RFC 5040 section 4). The result means
// nothing for tagged messages.
func (o Opcode) Queue() uint32 {
	switch o {
	case OpReadRequest:
		return ddp.QueueReadRequest
	case OpTerminate:
		return ddp.QueueTerminate
	default:
		return ddp.QueueSend
	}
}

// Invalidates reports whether messages of kind o carry, in ddp.Header.ULP, a steering tag to
// invalidate.
func (o Opcode) Invalidates() bool { return o == OpSendInvalidate || o == OpSendSEInvalidate }

var opcodeNames = [...]string{
	OpWrite:            "RDMA Write",
	OpReadRequest:      "RDMA Read Request",
	OpReadResponse:     "RDMA Read Response",
	OpSend:             "Send",
	OpSendInvalidate:   "Send with Invalidate",
	OpSendSE:           "Send with Solicited Event",
	OpSendSEInvalidate: "Send with Solicited Event and Invalidate",
	OpTerminate:        "Terminate",
}

// String returns the name of o in RFC 5040.
func (o Opcode) String() string {
	if o.Valid() {
		return opcodeNames[o]
	}
	return fmt.Sprintf("opcode %d", uint8(o))
}
