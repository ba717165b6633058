package sctp

import (
	"encoding/binary"
	"errors"
)

// Parameter types of INIT and INIT ACK (RFC 9260 section 3.3.2; RFC 5061 section 4.2.6).
const (
	paramIPv4Address        = 5
	paramIPv6Address        = 6
	paramStateCookie        = 7
	paramUnrecognized       = 8
	paramCookiePreservative = 9
	paramHostName           = 11
	paramAddressTypes       = 12
	paramAdaptation         = 0xc006
	paramZeroChecksum       = 0x8001 // RFC 9653 section 8
)

// The upper bits of an unknown parameter's type say what to do (RFC 9260 section 3.2.1).
const (
	paramSkip   = 0x8000 // skip it and go on, do not stop
	paramReport = 0x4000
)

// initLen is the length of INIT and INIT ACK without chunk header and parameters. leastWindow is
// the minimum a_rwnd (RFC 9260 section 3.3.2).
const (
	initLen     = 16
	leastWindow = 1500
)

// initiation is the content of INIT and INIT ACK (RFC 9260 sections 3.3.2 and 3.3.3).
type initiation struct {
	tag        uint32
	window     uint32 // a_rwnd
	out, in    uint16 // streams: OS and MIS
	tsn        uint32
	indication Indication
	cookie     []byte // of INIT ACK

	unrecognized []byte // Unrecognized Parameters, for the peer
}

// Reasons to refuse an INIT or INIT ACK.
var (
	errInitTag     = errors.New("initiate tag of zero")
	errInitFormat  = errors.New("INIT is cut short")
	errInitStreams = errors.New("INIT without streams")
	errInitWindow  = errors.New("INIT with a receive window below 1500 bytes")
	errHostName    = errors.New("INIT with a host name")
)

// parseInitiation parses the value of an INIT or INIT ACK chunk. After errInitTag nothing is
// answered; any other error is answered with ABORT.
func parseInitiation(p []byte) (i initiation, err error) {
	if len(p) < initLen {
		return i, errInitTag
	}
	i = initiation{
		tag:    binary.BigEndian.Uint32(p),
		window: binary.BigEndian.Uint32(p[4:]),
		out:    binary.BigEndian.Uint16(p[8:]),
		in:     binary.BigEndian.Uint16(p[10:]),
		tsn:    binary.BigEndian.Uint32(p[12:]),
	}
	switch {
	case i.tag == 0:
		return i, errInitTag
	case i.out == 0 || i.in == 0:
		return i, errInitStreams
	case i.window < leastWindow:
		return i, errInitWindow
	}
	for rest := p[initLen:]; len(rest) > 0; {
		q, next, ok := nextParameter(rest)
		if !ok {
			return i, errInitFormat
		}
		goOn, err := i.take(q, rest[:4+len(q.value)])
		if err != nil || !goOn {
			return i, err
		}
		rest = next
	}
	return i, nil
}

// take takes a parameter, and reports whether to go on with the next.
func (i *initiation) take(q parameter, whole []byte) (goOn bool, err error) {
	switch q.kind {
	case paramAdaptation:
		if len(q.value) != 4 {
			return false, errInitFormat
		}
		i.indication = Indication(binary.BigEndian.Uint32(q.value))
		if i.indication == NoIndication {
			i.indication = unknownIndication // zero was indicated
		}
	case paramStateCookie:
		i.cookie = q.value
	case paramHostName:
		return false, errHostName
	case paramIPv4Address, paramIPv6Address, paramCookiePreservative, paramAddressTypes,
		paramUnrecognized: // ignored: one path is enough
	default:
		if q.kind&paramReport != 0 {
			i.unrecognized = parameter{paramUnrecognized, whole}.append(i.unrecognized)
		}
		return q.kind&paramSkip != 0, nil
	}
	return true, nil
}

// append appends the value of an INIT or INIT ACK chunk.
func (i *initiation) append(p []byte) []byte {
	p = binary.BigEndian.AppendUint32(p, i.tag)
	p = binary.BigEndian.AppendUint32(p, i.window)
	p = binary.BigEndian.AppendUint16(p, i.out)
	p = binary.BigEndian.AppendUint16(p, i.in)
	p = binary.BigEndian.AppendUint32(p, i.tsn)
	if i.cookie != nil {
		p = parameter{paramStateCookie, i.cookie}.append(p)
	}
	if i.indication != NoIndication {
		p = parameter{paramAdaptation,
			binary.BigEndian.AppendUint32(nil, uint32(i.indication))}.append(p)
	}
	return append(p, i.unrecognized...)
}
