package sctp

import (
	"encoding/binary"
	"errors"
)

// Types of parameters of INIT and INIT ACK (RFC 9260 section 3.3.2; RFC 5061 section 4.2.6).
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

// The upper bits of the type of a parameter that is not known say what to do (RFC 9260 section
// 3.2.1).
const (
	paramSkip   = 0x8000 // go on behind it, rather than to stop
	paramReport = 0x4000
)

// initLen is the length of INIT and INIT ACK up to their parameters, without the chunk's header,
// and leastWindow the least a_rwnd that they may say (RFC 9260 section 3.3.2).
const (
	initLen     = 16
	leastWindow = 1500
)

// initiation is what INIT and INIT ACK say (RFC 9260 sections 3.3.2 and 3.3.3).
type initiation struct {
	tag        uint32
	window     uint32 // a_rwnd
	out, in    uint16 // streams: OS and MIS
	tsn        uint32
	indication Indication
	cookie     []byte // of INIT ACK

	unrecognized []byte // parameters that report those of the peer that are not known
}

// Why an INIT or INIT ACK cannot be taken.
var (
	errInitTag     = errors.New("initiate tag of zero")
	errInitFormat  = errors.New("INIT is cut short")
	errInitStreams = errors.New("INIT without streams")
	errInitWindow  = errors.New("INIT with a receive window below 1500 bytes")
	errHostName    = errors.New("INIT with a host name")
)

// parseInitiation takes the value of an INIT or INIT ACK chunk. With errInitTag there is to be no
// answer, and with another error an ABORT.
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
			i.indication = unknownIndication // a value of zero is one
		}
	case paramStateCookie:
		i.cookie = q.value
	case paramHostName:
		return false, errHostName
	case paramIPv4Address, paramIPv6Address, paramCookiePreservative, paramAddressTypes,
		paramUnrecognized: // one path is enough
	default:
		if q.kind&paramReport != 0 {
			i.unrecognized = parameter{paramUnrecognized, whole}.append(i.unrecognized)
		}
		return q.kind&paramSkip != 0, nil
	}
	return true, nil
}

// append appends what INIT and INIT ACK have behind the header of the chunk.
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
