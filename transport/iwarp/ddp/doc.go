// Package ddp is the wire format of the Direct Data Placement protocol
// (RFC 5041): the header that makes a segment place itself, either at an offset
// of a steering tag (tagged) or at an offset of a message in a queue (untagged).
package ddp
