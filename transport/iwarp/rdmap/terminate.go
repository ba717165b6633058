package rdmap

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// TerminateMaxLen is the length of the longest Terminate, in bytes, without its
// DDP header.
const TerminateMaxLen = controlLen + lengthLen + ddp.UntaggedLen + ReadRequestLen

const (
	controlLen = 4 // the Terminate Control field with its reserved bits
	lengthLen  = 2 // the DDP Segment Length
)

// Terminate is the payload of a Terminate message (RFC 5040 section 4.8): why the
// sender ends the stream, and what it copied of the segment that made it do so.
//
// On the wire: Code (16 bits), the bits M, D and R, 13 reserved bits; the segment
// length (16 bits) if M or D is set; the DDP header if D is set, its length that of
// the model which its own first bit names; the Read Request header if R is set.
type Terminate struct {
	Code Code

	// Length is the length in bytes of the segment in question, DDP header
	// included. HasLength is the M bit: that it is valid. Some peers count the
	// payload alone.
	Length    uint16
	HasLength bool

	DDPHeader   []byte // its DDP header as received, or empty (D bit)
	RDMAPHeader []byte // its Read Request header as received, or empty (R bit)

	// Swapped says that the control field arrived in the form of siw (form.go).
	// Append does not regard it.
	Swapped bool

	// Draft05 says that the error type of the codes 5 to 7 of MPA is 3 on the wire, as in section 8
	// of draft-ietf-storm-mpa-peer-connect-05. Code is the RFC's.
	Draft05 bool
}

// TerminateForSegment is the Terminate for an error in a received segment (the ULPDU
// of the LLP, whole or as far as it is there). The header copies alias segment.
//
// Errors that are not about one segment, those of the LLP and the local catastrophic
// ones, carry no copies; nor does a wrong DDP version, since then the layout of the
// header is unknown. Others carry the segment length and the DDP header, and the
// RDMAP header too if the segment is a Read Request (RFC 5040 section 4.8).
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

// Len is the length of the encoded message in bytes.
func (t *Terminate) Len() int {
	n := controlLen + len(t.DDPHeader) + len(t.RDMAPHeader)
	if t.hasLengthField() {
		n += lengthLen
	}
	return n
}

// hasLengthField: the field is valid with M, and present already with D.
func (t *Terminate) hasLengthField() bool { return t.HasLength || len(t.DDPHeader) > 0 }

// Append appends the encoded message, Len bytes, to b. The lengths of the header
// copies are the caller's responsibility.
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

// ParseTerminate parses the payload of a Terminate; the header copies alias it.
// It fails only with ErrShort, and even then what there is is returned: with
// four bytes or more the Code is good.
//
// A promised RDMAP header that is missing altogether is no error if the
// segment was no Read Request: siw sets R for Sends too.
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
	readRequest := true // as long as nothing says otherwise
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
