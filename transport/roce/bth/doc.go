// Package bth is the wire format of RoCE version 2 packets: what a UDP datagram to port 4791
// carries (IBTA volume 1 chapters 5 and 9, annex A17).
//
// A packet is a base transport header (BTH), the extended headers that its opcode has, payload, pad
// to a multiple of four bytes, and the invariant CRC. [Parse] and [Packet.AppendHeaders] know the
// first two; a [Path] computes and checks the last, which covers addresses, too.
package bth
