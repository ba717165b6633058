package mpa

import "errors"

// What ends a stream of FPDUs.
var (
	// ErrCRC: the CRC of an FPDU is wrong (RFC 5044 section 8, error code 2).
	ErrCRC = errors.New("MPA CRC error")
	// ErrLength: a ULPDU that is too short for any header of DDP. There is no error code for that.
	ErrLength = errors.New("impossible length of an FPDU")
	// ErrStalled: the peer stopped in the middle of an FPDU, or takes nothing.
	ErrStalled = errors.New("peer has stalled")
)
