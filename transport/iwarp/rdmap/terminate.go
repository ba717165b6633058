package rdmap

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// TerminateMaxLen is the maximum length in bytes of a Terminate, without its DDP header.
const TerminateMaxLen = controlLen + lengthLen + ddp.UntaggedLen + ReadRequestLen

const (
	controlLen = 4 // the Terminate Control field with its reserved bits
	lengthLen  = 2 // the DDP Segment Length
)

// Terminate is the payload of a Terminate message (RFC 5040 section 4.8). It says why the sender
// ends the stream, and has copies of the headers of the segment at fault.
//
// On the wire it consists of:
//
//   - Code (16 bits), the flags M, D and R, 13 reserved bits;
//   - the segment length (16 bits), if M or D is set;
//   - the DDP header, if D is set; its first bit says which model, and so which length, it has;
//   - the Read Request header, if R is set.
type Terminate struct {
	Code Code

	// Length is the length in bytes of the segment at fault, DDP header included; some peers count
	// the payload alone. HasLength, the M bit, says that Length is valid.
	Length    uint16
	HasLength bool

	DDPHeader   []byte // its DDP header as received, or empty (D bit)
	RDMAPHeader []byte // its Read Request header as received, or empty (R bit)

	// Swapped says that the control field arrived in the form of siw (form.go). Append ignores it.
	Swapped bool

	// Draft05 says that MPA's codes 5 to 7 have error type 3 on the wire, as in
	// draft-ietf-storm-mpa-peer-connect-05 section 8. Code is always that of the RFC.
	Draft05 bool
}

// TerminateForSegment returns the Terminate for an error in a received segment. Segment is the
// whole ULPDU of the LLP, or as much of it as arrived. The header copies alias it.
//
// Most errors carry the segment length and the DDP header, and the RDMAP header too if the segment
// is a Read Request (RFC 5040 section 4.8). These carry none:
//
//   - errors of the LLP and local catastrophic errors, which are not about one segment;
//   - a wrong DDP version, since the layout of the header is then unknown.
func TerminateForSegment(code Code, segment []byte) Terminate {
	t := Terminate{Code: code}
	switch {
	case code.layer() == layerLLP, code.class() == RDMAPCatastrophic, code.class() == DDPCatastrophic,
		code == TaggedVersion, code == UntaggedVersion:
		return t
	}
	h, payload, err := ddp.Parse(segment)
	if err != nil || len(segment) > 1<<16-1 {
		return t
	}
	t.Length, t.HasLength = uint16(len(segment)), true
	t.DDPHeader = segment[:h.Len():h.Len()]
	if isReadRequest(&h) && h.MO == 0 && code != OperationVersion && len(payload) >= ReadRequestLen {
		t.RDMAPHeader = payload[:ReadRequestLen:ReadRequestLen]
	}
	return t
}

func isReadRequest(h *ddp.Header) bool {
	_, op := ParseControl(h.Control)
	return !h.Tagged && op == OpReadRequest
}

// Len returns the length of the encoded message in bytes.
func (t *Terminate) Len() int {
	n := controlLen + len(t.DDPHeader) + len(t.RDMAPHeader)
	if t.hasLengthField() {
		n += lengthLen
	}
	return n
}

// hasLengthField: the length field is present with M or D, and valid with M only.
func (t *Terminate) hasLengthField() bool { return t.HasLength || len(t.DDPHeader) > 0 }

// Append appends the encoded message, Len bytes, to b. It does not check the lengths of the header
// copies.
func (t *Terminate) Append(b []byte) []byte {
	var f flags
	if t.HasLength {
		f |= flagM
	}
	if len(t.DDPHeader) > 0 {
		f |= flagD
	}
	if len(t.RDMAPHeader) > 0 {
		f |= flagR
	}
	code := t.Code
	if t.Draft05 {
		code = code.toDraft()
	}
	b = binary.BigEndian.AppendUint16(b, uint16(code))
	b = append(b, byte(f), 0)
	if t.hasLengthField() {
		b = binary.BigEndian.AppendUint16(b, t.Length)
	}
	b = append(b, t.DDPHeader...)
	return append(b, t.RDMAPHeader...)
}

// ParseTerminate parses the payload of a Terminate. The header copies alias it. It fails only with
// ErrShort, and then still returns what it could read: with four bytes or more the Code is valid.
//
// If R is set and the RDMAP header is missing altogether, that is no error unless the segment was a
// Read Request: siw sets R for Sends too.
func ParseTerminate(payload []byte) (Terminate, error) {
	if len(payload) < controlLen {
		return Terminate{}, ErrShort
	}
	var (
		t Terminate
		f flags
	)
	t.Code, f, t.Swapped = parseControlField(payload[0], payload[1], payload[2])
	t.Code, t.Draft05 = t.Code.fromDraft()
	rest := payload[controlLen:]

	if f&(flagM|flagD) != 0 {
		if len(rest) < lengthLen {
			return t, ErrShort
		}
		t.Length, t.HasLength = binary.BigEndian.Uint16(rest), f&flagM != 0
		rest = rest[lengthLen:]
	}
	readRequest := true // unless the DDP header says otherwise
	if f&flagD != 0 {
		h, behind, err := ddp.Parse(rest)
		if err != nil {
			return t, ErrShort
		}
		t.DDPHeader = rest[:h.Len():h.Len()]
		readRequest = isReadRequest(&h)
		rest = behind
	}
	if f&flagR != 0 && (readRequest || len(rest) > 0) {
		if len(rest) < ReadRequestLen {
			return t, ErrShort
		}
		t.RDMAPHeader = rest[:ReadRequestLen:ReadRequestLen]
	}
	return t, nil
}
