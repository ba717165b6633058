package rdmap

// flags are the header control bits of a Terminate (RFC 5040 section 4.8), in the
// places that they have in the third byte.
type flags uint8

const (
	flagM flags = 0x80 // the DDP segment length is valid
	flagD flags = 0x40 // the DDP header is included
	flagR flags = 0x20 // the RDMAP header is included

	flagsAll = flagM | flagD | flagR
)

// The same bits as siw sends them.
const (
	swappedM = 0x01
	swappedD = 0x02
	swappedR = 0x04

	swappedAll = swappedM | swappedD | swappedR
)

// parseControlField reads the first three bytes of the Terminate Control field, in
// the form of RFC 5040 or in that of Linux's siw on little-endian machines: there the
// nibbles of the first byte have changed places, and M, D and R are
// the lowest bits of the third, M lowest. Nothing says which form it is. The rule:
//
//  1. A flag in the three high bits of the third byte: the RFC's form. Otherwise a
//     flag in the three low bits, which the RFC reserves as zero: siw's.
//  2. No flag at all: the form in which the code is a defined one.
//  3. Defined in both, and different: layer and type are 0/1 or 1/0, where siw would
//     have set flags, so it is the RFC's form; or 0/2 or 2/0, an RDMAP
//     remote operation error or an MPA error, with the codes 5 to 7 that both
//     have. MPA errors never carry copies of headers and remote operation errors
//     should, so it is the MPA error: 20 05 is the RFC's form, 02 05 siw's.
//  4. Defined in neither: the RFC's form.
//
// Rule 3 errs with siw's own 20 05 and 20 06, version and opcode errors without
// copies; they answer only what no correct peer sends.
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

// turnFlags puts siw's flags in the places of the RFC.
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
