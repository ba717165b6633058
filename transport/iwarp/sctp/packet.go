package sctp

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes in bytes (RFC 9260 sections 3.1, 3.2 and 3.3.1).
const (
	headerLen      = 12 // of a packet
	chunkHeaderLen = 4
	dataHeaderLen  = 16 // of a DATA chunk, chunk header included
	sackLen        = 16 // of a SACK chunk without blocks and duplicates (section 3.3.4)
	shutdownLen    = 8  // of a SHUTDOWN chunk (section 3.3.8)
)

// chunkType is the first byte of a chunk (RFC 9260 section 3.2).
type chunkType uint8

const (
	chunkData             chunkType = 0
	chunkInit             chunkType = 1
	chunkInitAck          chunkType = 2
	chunkSack             chunkType = 3
	chunkHeartbeat        chunkType = 4
	chunkHeartbeatAck     chunkType = 5
	chunkAbort            chunkType = 6
	chunkShutdown         chunkType = 7
	chunkShutdownAck      chunkType = 8
	chunkError            chunkType = 9
	chunkCookieEcho       chunkType = 10
	chunkCookieAck        chunkType = 11
	chunkShutdownComplete chunkType = 14
)

// Flags of a DATA chunk (RFC 9260 section 3.3.1), and of ABORT and SHUTDOWN COMPLETE (sections
// 3.3.7 and 3.3.13).
const (
	flagEnd       = 0x01 // E: the last fragment of a message
	flagBegin     = 0x02 // B: the first
	flagUnordered = 0x04 // U
	flagImmediate = 0x08 // I: acknowledge without delay
	flagReflected = 0x01 // T: the verification tag is the one that the receiver sends
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the common header of a packet, without its checksum (RFC 9260 section 3.1).
type header struct {
	src, dst uint16 // ports
	tag      uint32
}

// append appends the header with a checksum of zero, which seal then sets.
func (h header) append(p []byte) []byte {
	p = binary.BigEndian.AppendUint16(p, h.src)
	p = binary.BigEndian.AppendUint16(p, h.dst)
	p = binary.BigEndian.AppendUint32(p, h.tag)
	return append(p, 0, 0, 0, 0)
}

// put overwrites the header of a packet, with a checksum of zero.
func (h header) put(p []byte) { h.append(p[:0]) }

// parseHeader returns the header of a packet. It reports false if the checksum is wrong, and sets
// the checksum to zero.
func parseHeader(p []byte) (h header, ok bool) {
	if len(p) < headerLen {
		return header{}, false
	}
	sum := binary.LittleEndian.Uint32(p[8:])
	binary.LittleEndian.PutUint32(p[8:], 0)
	return header{
		src: binary.BigEndian.Uint16(p),
		dst: binary.BigEndian.Uint16(p[2:]),
		tag: binary.BigEndian.Uint32(p[4:]),
	}, crc32.Checksum(p, castagnoli) == sum
}

// seal sets the checksum of a packet, which must be zero so far (RFC 9260 section 6.8 and appendix
// A).
func seal(p []byte) []byte {
	binary.LittleEndian.PutUint32(p[8:], crc32.Checksum(p, castagnoli))
	return p
}

// chunk is a chunk with its header, without its padding.
type chunk []byte

func (c chunk) kind() chunkType { return chunkType(c[0]) }
func (c chunk) flags() byte     { return c[1] }
func (c chunk) value() []byte   { return c[chunkHeaderLen:] }

// is reports whether c is not nil and of type t.
func (c chunk) is(t chunkType) bool { return c != nil && c.kind() == t }

// nextChunk returns the first chunk and the bytes behind it. It returns nil if there is no whole
// one.
func nextChunk(p []byte) (c chunk, rest []byte) {
	if len(p) < chunkHeaderLen {
		return nil, nil
	}
	n := int(binary.BigEndian.Uint16(p[2:]))
	if n < chunkHeaderLen || n > len(p) {
		return nil, nil
	}
	return chunk(p[:n:n]), p[min(padded(n), len(p)):]
}

// appendChunk appends a chunk, with padding.
func appendChunk(p []byte, t chunkType, flags byte, value ...[]byte) []byte {
	begin := len(p)
	p = append(p, byte(t), flags, 0, 0)
	for _, v := range value {
		p = append(p, v...)
	}
	binary.BigEndian.PutUint16(p[begin+2:], uint16(len(p)-begin))
	return pad(p, begin)
}

// padded returns n rounded up to a multiple of 4.
func padded(n int) int { return (n + 3) &^ 3 }

// pad appends zeros until the bytes from begin on are a multiple of 4.
func pad(p []byte, begin int) []byte {
	for (len(p)-begin)%4 != 0 {
		p = append(p, 0)
	}
	return p
}

// parameter is a parameter of INIT or INIT ACK, or the cause of an error. Both begin with a type
// and a length (RFC 9260 sections 3.2.1 and 3.3.10).
type parameter struct {
	kind  uint16
	value []byte
}

// append appends the parameter, with padding.
func (q parameter) append(p []byte) []byte {
	begin := len(p)
	p = binary.BigEndian.AppendUint16(p, q.kind)
	p = binary.BigEndian.AppendUint16(p, uint16(4+len(q.value)))
	return pad(append(p, q.value...), begin)
}

// nextParameter returns the first parameter and the bytes behind it. It reports false if there is
// no whole one.
func nextParameter(p []byte) (q parameter, rest []byte, ok bool) {
	if len(p) < 4 {
		return parameter{}, nil, false
	}
	n := int(binary.BigEndian.Uint16(p[2:]))
	if n < 4 || n > len(p) {
		return parameter{}, nil, false
	}
	return parameter{binary.BigEndian.Uint16(p), p[4:n:n]}, p[min(padded(n), len(p)):], true
}

// Error causes (RFC 9260 section 3.3.10).
const (
	causeInvalidStream     = 1
	causeMissingParameter  = 2
	causeStaleCookie       = 3
	causeOutOfResource     = 4
	causeUnresolvable      = 5
	causeInvalidParameter  = 7
	causeNoUserData        = 9
	causeCookieInShutdown  = 10
	causeUserAbort         = 12
	causeProtocolViolation = 13
)

// appendAbort appends an ABORT chunk with a cause.
func appendAbort(p []byte, flags byte, cause uint16, text string) []byte {
	return appendChunk(p, chunkAbort, flags, parameter{cause, []byte(text)}.append(nil))
}
