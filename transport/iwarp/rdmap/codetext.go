package rdmap

import "github.com/rpcrdma/go-rpcrdma/transport"

// classes describes each pair of layer and error type.
var classes = map[Code]string{
	0x0000: "RDMAP local catastrophic error",
	0x0100: "RDMAP remote protection error",
	0x0200: "RDMAP remote operation error",
	0x1000: "DDP local catastrophic error",
	0x1100: "DDP tagged buffer error",
	0x1200: "DDP untagged buffer error",
	0x2000: "MPA error",
}

// codes describes every defined code, and gives the error of package transport with the same
// meaning.
var codes = map[Code]struct {
	text  string
	cause error
}{
	ProtectionSTag:        {"invalid STag", transport.ErrSTag},
	ProtectionBounds:      {"base or bounds violation", transport.ErrBounds},
	ProtectionAccess:      {"access rights violation", transport.ErrAccess},
	ProtectionStream:      {"STag not associated with the stream", transport.ErrSTag},
	ProtectionWrap:        {"tagged offset wraps", transport.ErrBounds},
	ProtectionInvalidate:  {"STag cannot be invalidated", transport.ErrAccess},
	ProtectionUnspecified: {"unspecified", nil},

	OperationVersion:     {"invalid RDMAP version", nil},
	OperationOpcode:      {"unexpected opcode", nil},
	OperationStream:      {"catastrophic error of the stream", nil},
	OperationGlobal:      {"global catastrophic error", nil},
	OperationInvalidate:  {"STag cannot be invalidated", transport.ErrAccess},
	OperationUnspecified: {"unspecified", nil},

	DDPCatastrophic: {},

	TaggedSTag:    {"invalid STag", transport.ErrSTag},
	TaggedBounds:  {"base or bounds violation", transport.ErrBounds},
	TaggedStream:  {"STag not associated with the stream", transport.ErrSTag},
	TaggedWrap:    {"tagged offset wraps", transport.ErrBounds},
	TaggedVersion: {"invalid DDP version", nil},

	UntaggedQueue:    {"invalid queue number", nil},
	UntaggedNoBuffer: {"no buffer for the message", transport.ErrNoReceive},
	UntaggedMSNRange: {"message sequence number out of range", nil},
	UntaggedMO:       {"invalid message offset", nil},
	UntaggedTooLong:  {"message too long for its buffer", transport.ErrTooLong},
	UntaggedVersion:  {"invalid DDP version", nil},

	MPAClosed:       {"TCP connection closed or lost", nil},
	MPACRC:          {"CRC mismatch", nil},
	MPAMarker:       {"marker and length disagree", nil},
	MPAStartup:      {"invalid request or reply frame", nil},
	MPACatastrophic: {"local catastrophic error", nil},
	MPAIRD:          {"insufficient IRD resources", nil},
	MPARTR:          {"no matching RTR option", nil},
}
