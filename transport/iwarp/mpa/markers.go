package mpa

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// A stream with markers has one at its beginning and one at every 512th byte from there. A marker
// is two bytes without meaning, and the number of bytes from the beginning of its FPDU to the
// marker. A marker between two FPDUs has the number 0 and belongs to the second (RFC 5044 section
// 4.3).
//
// The CRC of an FPDU covers its markers; the length and the padding do not count them. Everything
// starts at a multiple of four, so no marker lies within a length or a CRC.
const (
	markerSize  = 4
	markerEvery = 512

	// maxMarkedULPDU is the longest ULPDU for which the 16 bits of any marker can hold the distance
	// to the beginning of the FPDU (RFC 5044 section 4.3).
	maxMarkedULPDU = 64768

	// maxMarked is about the maximum size of an FPDU in a stream with markers. The markers of the
	// longest FPDUs cannot hold the distance to the beginning.
	maxMarked = maxFPDU + markerSize*(maxFPDU/(markerEvery-markerSize)+1)
)

// markedSize returns the bytes that an FPDU of n bytes takes, with its markers, if it begins at
// position pos.
func markedSize(pos, n int) int {
	next := toMarker(pos)
	if n <= next {
		return n
	}
	const run = markerEvery - markerSize
	return n + markerSize*((n-next+run-1)/run)
}

// toMarker returns the number of bytes from position pos to the next marker.
func toMarker(pos int) int { return -pos & (markerEvery - 1) }

// pointer returns the number in a marker at position pos. The length field of its FPDU is at
// position start, before or behind the marker.
func pointer(pos, start int) int { return max(pos-start, 0) }

// addMarked does what add does, in a stream with markers. The runs between two markers are too
// short to be pieces of their own, so everything is copied to the arena.
func (b *batch) addMarked(header []byte, p *ddp.Payload, n int, crc bool) bool {
	ulpdu := len(header) + n
	if len(b.arena)+markedSize(b.position(), fpduSize(ulpdu)) > cap(b.arena) {
		return false
	}
	m := marking{out: b.arena[len(b.arena):], pos: b.position(), start: b.position()}
	if toMarker(m.start) == 0 {
		m.start += markerSize
	}
	m.add([]byte{byte(ulpdu >> 8), byte(ulpdu)})
	m.add(header)
	for left := n; left > 0; {
		piece := p.Next(left)
		left -= len(piece)
		m.add(piece)
	}
	var end [crcSize]byte
	m.add(end[:padding(ulpdu)])
	m.due() // in front of the CRC, which covers it
	if crc {
		binary.LittleEndian.PutUint32(end[:], crc32.Checksum(m.out, castagnoli))
	}
	m.add(end[:])
	b.took(len(m.out))
	b.ends = append(b.ends, b.size)
	return true
}

// marking is an FPDU being written with its markers.
type marking struct {
	out   []byte // what is written; it has the capacity for all
	pos   int    // position of its end in the stream
	start int    // position of the FPDU's length field in the stream
}

// add appends a part of the FPDU, and the markers that are due before or within it.
func (m *marking) add(part []byte) {
	for len(part) > 0 {
		m.due()
		n := min(len(part), toMarker(m.pos))
		m.out = append(m.out, part[:n]...)
		m.pos += n
		part = part[n:]
	}
}

// due appends a marker if one is due here.
func (m *marking) due() {
	if toMarker(m.pos) == 0 {
		m.out = binary.BigEndian.AppendUint32(m.out, uint32(pointer(m.pos, m.start)))
		m.pos += markerSize
	}
}

// position returns the position of the batch's end in the stream.
func (b *batch) position() int { return b.base + b.size }

// parseMarked does what parse does, in a stream with markers.
func (r *reader) parseMarked(sink ddp.Sink) error {
	b := r.buf[:r.n]
	for {
		start := 0
		if toMarker(r.pos) == 0 {
			start = markerSize
		}
		if len(b) < start+lengthSize {
			break
		}
		n := int(binary.BigEndian.Uint16(b[start:]))
		if n < ddp.TaggedLen {
			return ErrLength
		}
		size := markedSize(r.pos, fpduSize(n))
		if len(b) < size {
			break
		}
		if r.crc && !crcHolds(b[:size]) {
			return ErrCRC
		}
		fpdu, err := unmark(b[:size], r.pos, start)
		if err != nil {
			return err
		}
		r.fpdus++
		b = b[size:]
		r.pos += size
		segment := fpdu[lengthSize : lengthSize+n]
		if err := sink.Segment(segment); err != nil {
			if err == ddp.ErrHold {
				r.hold(segment, b)
			}
			return err
		}
	}
	r.keep(b)
	return nil
}

// unmark removes the markers from the FPDU in b, and checks them. The FPDU begins at position pos
// of the stream, and its length field at index start of b. It fails with ErrMarker if a marker
// holds a wrong number. The two low bits of the number mean nothing.
func unmark(b []byte, pos, start int) ([]byte, error) {
	next := toMarker(pos) // marker
	fpdu := b[start:max(min(next, len(b)), start)]
	for ; next < len(b); next += markerEvery {
		if told := int(binary.BigEndian.Uint16(b[next+2:])) &^ 3; told != pointer(next, start) {
			return nil, ErrMarker
		}
		fpdu = append(fpdu, b[next+markerSize:min(next+markerEvery, len(b))]...)
	}
	return fpdu, nil
}
