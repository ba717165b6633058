// Package mpa is Marker PDU Aligned Framing (RFC 5044, RFC 6581): how two ends of a connection
// agree to speak iWARP, and how DDP segments lie in the byte stream from then on.
//
// The startup: [Initiate] sends an MPA Request and reads the Reply; [ReadRequest] reads a Request,
// which is then accepted or rejected. Both come to a [Setup], by the rules of RFC 6581 where both
// sides know it (setup.go, enhanced*.go).
//
// The stream: [Conn] sends FPDUs in large batches, straight from where the payload is (batch.go,
// writer.go), reads many at a time (reader.go), and implements ddp.LLP. TCP on Linux is read and
// written by system calls that do not block (socket_linux.go), all else by Read and Write
// (socket_plain.go).
package mpa
