// Package xdr encodes and decodes XDR streams (RFC 4506) without copying their bulk data.
//
// An [Encoder] appends items to an inline buffer. [Encoder.Bulk] writes only the length word there:
// the data stays in the caller's memory, and the encoder remembers its position in the stream. The
// result is a [Message]. A transport either gathers its parts into one stream or moves the bulk
// data separately by RDMA. A [Decoder] accepts both forms, and [Decoder.Bulk] returns the data
// wherever it arrived.
//
//	var e xdr.Encoder
//	e.Uint32(7)
//	e.BulkBytes(pixels, nil) // not copied
//	m := e.Message()
//
//	d := xdr.NewDecoder(m.AppendTo(nil))
//	id := d.Uint32()
//	data := d.Bulk(1 << 20) // at most 1 MiB
//	err := d.Finish()
//
// The package example shows how to write types with unions and optional data.
//
// Numbers are big-endian. Every item is rounded up to a multiple of four bytes with zeros, which
// the decoder checks (RFC 4506 section 3). The decoder takes a limit for every length and never
// allocates what a peer merely claims.
//
// Errors are sticky: encode or decode straight through, then check Err or Finish once. A decoder's
// error is a [*DecodeError] that wraps one of the Err variables, or an error given to Fail.
//
// The position of a bulk item is the number of stream bytes before its first data byte. It counts
// earlier bulk items and their round-up (draft-ietf-nfsv4-rpcrdma-08 section 3.4).
package xdr

// Unit is the size in bytes to whose multiple every item is rounded up (RFC 4506 section 3).
const Unit = 4

// RoundUp returns n rounded up to a multiple of Unit.
func RoundUp(n int) int { return (n + Unit - 1) &^ (Unit - 1) }

// PadLen returns the number of bytes that round n up to a multiple of Unit.
func PadLen(n int) int { return -n & (Unit - 1) }

var zeros [Unit]byte
