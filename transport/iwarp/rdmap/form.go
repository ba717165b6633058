package rdmap

// flags are the header control bits of a Terminate (RFC 5040 section 4.8), at their places in the
// third byte.
type flags uint8

const (
	flagM flags = 0x80 // the DDP segment length is valid
	flagD flags = 0x40 // the DDP header is included
	flagR flags = 0x20 // the RDMAP header is included

	flagsAll = flagM | flagD | flagR
)

// The same bits at the places where siw sends them.
const (
	swappedM = 0x01
	swappedD = 0x02
	swappedR = 0x04

	swappedAll = swappedM | swappedD | swappedR
)

// parseControlField reads the first three bytes of the Terminate Control field. They may have the
// form of RFC 5040, or that of Linux's siw on little-endian machines: siw swaps the nibbles of the
// first byte, and puts M, D and R in the lowest bits of the third, M lowest. No field says which
// form it is, so these rules decide:
//
//  1. A flag in the three high bits of the third byte means the RFC's form. A flag in the three
//     low bits, which the RFC reserves as zero, means siw's.
//  2. Without flags: the form in which the code is defined.
//  3. If both are defined and differ, the layers and types are 0/1 and 1/0, or 0/2 and 2/0. With
//     0/1 and 1/0, siw would have set flags, so it is the RFC's form. 0/2 is an RDMAP remote
//     operation error and 2/0 an MPA error, both with the codes 5 to 7. An MPA error never carries
//     copies of headers and a remote operation error should, so it is the MPA error: 20 05 is the
//     RFC's form, 02 05 siw's.
//  4. If neither is defined: the RFC's form.
//
// Rule 3 misreads 20 05 and 20 06 from siw, version and opcode errors without copies. siw sends
// these only to a peer that breaks the protocol.
func parseControlField(b0, b1, b2 byte) (code Code, f flags, swapped bool) {
	plain := Code(b0)<<8 | Code(b1)
	turned := Code(b0<<4|b0>>4)<<8 | Code(b1)
	f = flags(b2) & flagsAll
	switch {
	case f != 0:
		return plain, f, false
	case b2&swappedAll != 0:
		return turned, turnFlags(b2), true
	case plain == turned:
		return plain, 0, false
	case plain.known() && turned.known():
		swapped = turned.layer() == layerLLP
	default:
		swapped = turned.known()
	}
	if swapped {
		return turned, 0, true
	}
	return plain, 0, false
}

// turnFlags moves siw's flags to their places in the RFC.
func turnFlags(b byte) (f flags) {
	if b&swappedM != 0 {
		f |= flagM
	}
	if b&swappedD != 0 {
		f |= flagD
	}
	if b&swappedR != 0 {
		f |= flagR
	}
	return f
}
