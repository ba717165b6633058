// Package bth encodes and decodes RoCE version 2 packets: the content of UDP datagrams to port 4791
// (IBTA volume 1 chapters 5 and 9, annex A17).
//
// A packet consists of a base transport header (BTH), the extended headers of its opcode, payload,
// padding to a multiple of four bytes, and the invariant CRC (ICRC):
//
//	h := bth.Packet{Opcode: bth.SendOnly, Migrated: true, PKey: bth.DefaultPKey, QP: 17, PSN: 1}
//	b := append(h.AppendHeaders(nil, len(payload)), payload...)
//	b = append(b, make([]byte, bth.Pad(len(payload)))...)
//	path := bth.NewPath(src, dst) // the ICRC covers addresses and ports, too
//	b = path.AppendSum(b, 0, id)
//
//	id, ok := path.Check(b) // of the receiver: checks the ICRC
//	h, err := bth.Parse(b)
//
// With IPv4, the ICRC also covers the identification of the IP header. A UDP socket does not show
// that, so [Path.Check] computes the one with which the ICRC is right.
//
// [Parse] fails with ErrShort, ErrVersion, ErrOpcode or ErrPad.
package bth
