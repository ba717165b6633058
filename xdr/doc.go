// Package xdr encodes and decodes XDR streams (RFC 4506) from which bulk data is
// left out by reference.
//
// An [Encoder] appends to an inline buffer. Bulk data is not copied there: its
// length word is, and the data stays where it is, remembered with its position
// in the stream. The result is a [Message], which each transport lays out in its
// own way without touching the data: gathered into one stream, or moved beside it
// by RDMA. A [Decoder] gives the same view back. The bulk data may have come beside the stream, or
// inside it. The stream may lie in two buffers, and its data may be padded to an alignment
// ([Padding]).
//
// Everything is big-endian, in units of four bytes; what is shorter is rounded up
// with zero bytes, which the decoder checks (RFC 4506 section 3). Errors are sticky:
// encode or decode straight through and check once at the end.
//
// The position of an item counts the bytes of the whole stream before its first
// data byte, earlier bulk items and their round-up included
// (draft-ietf-nfsv4-rpcrdma-08 section 3.4).
package xdr

// Unit is the size in bytes to which every item is rounded up (RFC 4506 section 3).
const Unit = 4

// RoundUp returns n rounded up to a multiple of Unit.
func RoundUp(n int) int { return (n + Unit - 1) &^ (Unit - 1) }

// PadLen returns the number of bytes that round n up to a multiple of Unit.
func PadLen(n int) int { return -n & (Unit - 1) }

var zeros [Unit]byte
