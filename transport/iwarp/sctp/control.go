package sctp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Payload protocol identifiers (RFC 5043 section 5.2; draft-stewart-rddp-sctp-01 section 2.2).
const (
	ppidSegment = 16
	ppidControl = 17

	ppidDraftSegment = 1
	ppidDraftControl = 2
)

// ssnLen is the length of the DDP-SSN, with which every message begins (RFC 5043 section 5.2.1).
const ssnLen = 2

// function is the function code of a session control message (RFC 5043 section 5.2.3, RFC 6581
// section 7).
type function uint16

const (
	initiate         function = 1
	accept           function = 2
	reject           function = 3
	terminate        function = 4
	enhancedInitiate function = 5
	enhancedAccept   function = 6
	enhancedReject   function = 7
)

// String names the function.
func (f function) String() string {
	names := [...]string{
		initiate: "Initiate", accept: "Accept", reject: "Reject", terminate: "Terminate",
		enhancedInitiate: "Enhanced Initiate", enhancedAccept: "Enhanced Accept",
		enhancedReject: "Enhanced Reject",
	}
	if int(f) < len(names) && names[f] != "" {
		return names[f]
	}
	return fmt.Sprintf("function %d", uint16(f))
}

// enhanced reports whether the private data begins with IRD, ORD and flags.
func (f function) enhanced() bool {
	return f == enhancedInitiate || f == enhancedAccept || f == enhancedReject
}

// Private data has at most maxPrivate bytes. In an enhanced message this includes the enhancedLen
// bytes of enhanced data (RFC 5043 section 5.2.3, RFC 6581 section 7).
const (
	maxPrivate  = 512
	enhancedLen = 4
)

// leastSegment is the least maximum segment, whatever the path takes: the length of the longest
// session control message (RFC 5043 section 9).
const leastSegment = ssnLen + 2 + maxPrivate

// control is a session control message without its DDP-SSN.
type control struct {
	function function
	private  []byte
}

// errControl: a message is not a valid session control message.
var errControl = errors.New("not a session control message")

// parseControl parses what follows the DDP-SSN. The result refers to p.
func parseControl(p []byte) (control, error) {
	if len(p) < 2 {
		return control{}, fmt.Errorf("%w: %d bytes", errControl, len(p))
	}
	c := control{function(binary.BigEndian.Uint16(p)), p[2:]}
	switch n := len(c.private); {
	case c.function < initiate || c.function > enhancedReject:
		return c, fmt.Errorf("%w: %v", errControl, c.function)
	case n > maxPrivate:
		return c, fmt.Errorf("%w: private data of %d bytes", errControl, n)
	case c.function.enhanced() && n < enhancedLen:
		return c, fmt.Errorf("%w: %v without IRD and ORD", errControl, c.function)
	case c.function == terminate && n > 0:
		return c, fmt.Errorf("%w: Terminate with private data", errControl)
	}
	return c, nil
}

// append appends the message, without its DDP-SSN.
func (c *control) append(p []byte) []byte {
	return append(binary.BigEndian.AppendUint16(p, uint16(c.function)), c.private...)
}

// draftReset is the message of the draft that makes a stream available for a new session (section
// 7.2). It has resetLen bytes, too few for a DDP segment.
const draftReset = 1

// resetLen is the length of draftReset in bytes.
const resetLen = 4
