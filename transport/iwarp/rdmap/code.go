package rdmap

import "fmt"

// Code says why a stream was terminated. It is the first 16 bits of the Terminate Control field:
// layer (4 bits), error type (4) and error code (8). It covers RDMAP and the layers below.
type Code uint16

// RDMAP is layer 0 (RFC 5040 section 4.8).
const (
	RDMAPCatastrophic Code = 0x0000 // local catastrophic error; any code

	// Error type 1: remote protection errors.
	ProtectionSTag        Code = 0x0100
	ProtectionBounds      Code = 0x0101
	ProtectionAccess      Code = 0x0102
	ProtectionStream      Code = 0x0103 // the STag belongs to another stream
	ProtectionWrap        Code = 0x0104 // the tagged offset wraps around
	ProtectionInvalidate  Code = 0x0109 // the STag cannot be invalidated
	ProtectionUnspecified Code = 0x01ff

	// Error type 2: remote operation errors.
	OperationVersion     Code = 0x0205
	OperationOpcode      Code = 0x0206
	OperationStream      Code = 0x0207 // catastrophic for the stream
	OperationGlobal      Code = 0x0208 // catastrophic for more than the stream
	OperationInvalidate  Code = 0x0209 // the STag cannot be invalidated
	OperationUnspecified Code = 0x02ff
)

// DDP is layer 1 (RFC 5041 section 7).
const (
	DDPCatastrophic Code = 0x1000

	// Error type 1: tagged buffer errors.
	TaggedSTag    Code = 0x1100
	TaggedBounds  Code = 0x1101
	TaggedStream  Code = 0x1102 // the STag belongs to another stream
	TaggedWrap    Code = 0x1103 // the tagged offset wraps around
	TaggedVersion Code = 0x1104

	// Error type 2: untagged buffer errors.
	UntaggedQueue    Code = 0x1201
	UntaggedNoBuffer Code = 0x1202
	UntaggedMSNRange Code = 0x1203
	UntaggedMO       Code = 0x1204
	UntaggedTooLong  Code = 0x1205
	UntaggedVersion  Code = 0x1206
)

// MPA is layer 2, error type 0 (RFC 5044 section 8; the last three are in RFC 6581 section 8).
const (
	MPAClosed       Code = 0x2001 // TCP connection closed, terminated or lost
	MPACRC          Code = 0x2002
	MPAMarker       Code = 0x2003 // marker and length disagree on where an FPDU starts
	MPAStartup      Code = 0x2004 // invalid request or reply frame
	MPACatastrophic Code = 0x2005
	MPAIRD          Code = 0x2006 // insufficient IRD resources
	MPARTR          Code = 0x2007 // no matching RTR option
)

// layerLLP is the lowest layer of a Code.
const layerLLP = 2

func (c Code) layer() uint8 { return uint8(c >> 12) }

// class returns layer and error type: c without its error code.
func (c Code) class() Code { return c &^ 0xff }

// known reports whether a specification defines c.
func (c Code) known() bool {
	_, ok := codes[c]
	return ok || c.class() == RDMAPCatastrophic
}

// Cause returns the error of package transport with the same meaning, or nil.
func (c Code) Cause() error { return codes[c].cause }

// String describes c, for example "DDP tagged buffer error: invalid STag".
func (c Code) String() string {
	class, ok := classes[c.class()]
	if !ok {
		return fmt.Sprintf("error type %d of layer %d: code %d", c>>8&0xf, c.layer(), uint8(c))
	}
	info, ok := codes[c]
	switch {
	case ok && info.text != "":
		return class + ": " + info.text
	case ok || c.class() == RDMAPCatastrophic:
		return class
	default:
		return fmt.Sprintf("%s: code %d", class, uint8(c))
	}
}
