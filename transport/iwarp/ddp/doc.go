// Package ddp encodes and decodes the segment headers of the Direct Data Placement protocol (RFC
// 5041). It also defines what the packages below and above it exchange: [LLP] carries segments,
// [Sink] takes them, and [Setup] is what both ends agreed on before the first segment.
//
// A segment is a header and a payload. A tagged header names a steering tag and an offset; an
// untagged one names a queue, a message and an offset in the message:
//
//	h := ddp.Header{Tagged: true, Last: true, Version: ddp.Version, STag: tag, Offset: 4096}
//	segment := append(h.Append(nil), payload...)
//
//	h, payload, err := ddp.Parse(segment) // payload aliases segment
//
// [Parse] fails only with [ErrShort]. Callers check the version, the tag and the queue themselves.
package ddp
