package rdmap

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

func TestCode(t *testing.T) {
	for _, tt := range []struct {
		code   Code
		number uint16 // layer, type and code, from the registry of RFC 6580
		text   string
		cause  error
	}{
		{RDMAPCatastrophic, 0x0000, "RDMAP local catastrophic error", nil},
		{ProtectionSTag, 0x0100, "RDMAP remote protection error: invalid STag", transport.ErrSTag},
		{ProtectionBounds, 0x0101, "RDMAP remote protection error: base or bounds violation", transport.ErrBounds},
		{ProtectionAccess, 0x0102, "RDMAP remote protection error: access rights violation", transport.ErrAccess},
		{ProtectionStream, 0x0103, "RDMAP remote protection error: STag not associated with the stream", transport.ErrSTag},
		{ProtectionWrap, 0x0104, "RDMAP remote protection error: tagged offset wraps", transport.ErrBounds},
		{ProtectionInvalidate, 0x0109, "RDMAP remote protection error: STag cannot be invalidated", transport.ErrAccess},
		{ProtectionUnspecified, 0x01ff, "RDMAP remote protection error: unspecified", nil},
		{OperationVersion, 0x0205, "RDMAP remote operation error: invalid RDMAP version", nil},
		{OperationOpcode, 0x0206, "RDMAP remote operation error: unexpected opcode", nil},
		{OperationStream, 0x0207, "RDMAP remote operation error: catastrophic error of the stream", nil},
		{OperationGlobal, 0x0208, "RDMAP remote operation error: global catastrophic error", nil},
		{OperationInvalidate, 0x0209, "RDMAP remote operation error: STag cannot be invalidated", transport.ErrAccess},
		{OperationUnspecified, 0x02ff, "RDMAP remote operation error: unspecified", nil},
		{DDPCatastrophic, 0x1000, "DDP local catastrophic error", nil},
		{TaggedSTag, 0x1100, "DDP tagged buffer error: invalid STag", transport.ErrSTag},
		{TaggedBounds, 0x1101, "DDP tagged buffer error: base or bounds violation", transport.ErrBounds},
		{TaggedStream, 0x1102, "DDP tagged buffer error: STag not associated with the stream", transport.ErrSTag},
		{TaggedWrap, 0x1103, "DDP tagged buffer error: tagged offset wraps", transport.ErrBounds},
		{TaggedVersion, 0x1104, "DDP tagged buffer error: invalid DDP version", nil},
		{UntaggedQueue, 0x1201, "DDP untagged buffer error: invalid queue number", nil},
		{UntaggedNoBuffer, 0x1202, "DDP untagged buffer error: no buffer for the message", transport.ErrNoReceive},
		{UntaggedMSNRange, 0x1203, "DDP untagged buffer error: message sequence number out of range", nil},
		{UntaggedMO, 0x1204, "DDP untagged buffer error: invalid message offset", nil},
		{UntaggedTooLong, 0x1205, "DDP untagged buffer error: message too long for its buffer", transport.ErrTooLong},
		{UntaggedVersion, 0x1206, "DDP untagged buffer error: invalid DDP version", nil},
		{MPAClosed, 0x2001, "MPA error: TCP connection closed or lost", nil},
		{MPACRC, 0x2002, "MPA error: CRC mismatch", nil},
		{MPAMarker, 0x2003, "MPA error: marker and length disagree", nil},
		{MPAStartup, 0x2004, "MPA error: invalid request or reply frame", nil},
		{MPACatastrophic, 0x2005, "MPA error: local catastrophic error", nil},
		{MPAIRD, 0x2006, "MPA error: insufficient IRD resources", nil},
		{MPARTR, 0x2007, "MPA error: no matching RTR option", nil},

		{Code(0x00ff), 0x00ff, "RDMAP local catastrophic error", nil}, // as siw sends it
		{Code(0x1207), 0x1207, "DDP untagged buffer error: code 7", nil},
		{Code(0x2000), 0x2000, "MPA error: code 0", nil},
		{Code(0x3204), 0x3204, "error type 2 of layer 3: code 4", nil},
	} {
		if uint16(tt.code) != tt.number {
			t.Errorf("%v: got %#04x, want %#04x", tt.code, uint16(tt.code), tt.number)
		}
		if got := tt.code.String(); got != tt.text {
			t.Errorf("%#04x: got %q, want %q", tt.number, got, tt.text)
		}
		if got := tt.code.Cause(); !errors.Is(got, tt.cause) {
			t.Errorf("%v: got cause %v, want %v", tt.code, got, tt.cause)
		}
	}
}
