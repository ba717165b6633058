// Package ddp is the wire format of the Direct Data Placement protocol
// (RFC 5041): the header that makes a segment place itself, either at an offset
// of a steering tag (tagged) or at an offset of a message in a queue (untagged).
//
// It also says what carries segments, an [LLP], what takes them, a [Sink], and what
// two ends have agreed on before the first of them, a [Setup].
package ddp
