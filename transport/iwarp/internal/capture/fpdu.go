package capture

import (
	"encoding/binary"
	"errors"
	"testing"
)

// FPDU is one framed unit of MPA (RFC 5044 section 4.1), without markers.
type FPDU struct {
	Raw   []byte // all of it, from the length to the CRC
	ULPDU []byte // the DDP segment
	CRC   []byte // the last four bytes
}

// Split divides a stream into its startup frame and its FPDUs.
func Split(tb testing.TB, stream []byte) (startup []byte, fpdus []FPDU) {
	tb.Helper()
	startup, fpdus, err := split(stream)
	if err != nil {
		tb.Fatal(err)
	}
	return startup, fpdus
}

var (
	errStartup = errors.New("stream ends inside the startup frame")
	errFPDU    = errors.New("stream ends inside an FPDU")
)

const (
	startupLen = 20 // key, flags, revision, length of the private data
	lengthLen  = 2
	crcLen     = 4
)

func split(stream []byte) (startup []byte, fpdus []FPDU, err error) {
	if len(stream) < startupLen {
		return nil, nil, errStartup
	}
	n := startupLen + int(binary.BigEndian.Uint16(stream[startupLen-2:]))
	if n > len(stream) {
		return nil, nil, errStartup
	}
	startup = stream[:n:n]
	for rest := stream[n:]; len(rest) > 0; {
		if len(rest) < lengthLen {
			return nil, nil, errFPDU
		}
		length := int(binary.BigEndian.Uint16(rest))
		padded := (lengthLen + length + 3) / 4 * 4
		if padded+crcLen > len(rest) {
			return nil, nil, errFPDU
		}
		f := FPDU{Raw: rest[: padded+crcLen : padded+crcLen]}
		f.ULPDU, f.CRC = f.Raw[lengthLen:lengthLen+length], f.Raw[padded:]
		fpdus = append(fpdus, f)
		rest = rest[len(f.Raw):]
	}
	return startup, fpdus, nil
}
