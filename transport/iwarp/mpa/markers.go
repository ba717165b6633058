package mpa

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// A stream with markers has one at its beginning and at every 512th byte from there: two bytes that
// mean nothing, and the number of bytes of the stream between the beginning of the FPDU and the
// marker. One that stands between two FPDUs points nowhere, and belongs to the one that follows
// (RFC 5044 section 4.3). The CRC covers them; the length and the padding of an FPDU do not count
// them. Like everything here they begin at a multiple of four, so that none stands within a length
// or a CRC.
const (
	markerSize  = 4
	markerEvery = 512

	// maxMarkedULPDU is the longest ULPDU of whose FPDU any marker can tell the beginning in 16
	// bits (RFC 5044 section 4.3).
	maxMarkedULPDU = 64768

	// maxMarked is about the most that an FPDU can take in a stream with markers, though not all of
	// these can tell its beginning.
	maxMarked = maxFPDU + markerSize*(maxFPDU/(markerEvery-markerSize)+1)
)

// markedSize is the room that an FPDU of n bytes takes in a stream with markers when it begins at
// position pos.
func markedSize(pos, n int) int {
	next := toMarker(pos)
	if n <= next {
		return n
	}
	const run = markerEvery - markerSize
	return n + markerSize*((n-next+run-1)/run)
}

// toMarker is the number of bytes from position pos to the next marker.
func toMarker(pos int) int { return -pos & (markerEvery - 1) }

// pointer is what a marker at position pos tells when the length of its FPDU stands, or will stand,
// at position start.
func pointer(pos, start int) int { return max(pos-start, 0) }

// addMarked is add in a stream with markers. Between two of them there is too little for a piece of
// its own, so all goes by way of the arena.
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

// marking is an FPDU being written, with its markers.
type marking struct {
	out   []byte // what is written, in memory that has room for all
	pos   int    // in the stream, of the end of it
	start int    // in the stream, of the length of the FPDU
}

// add appends a part of the FPDU, and the markers in front of it and in it.
func (m *marking) add(part []byte) {
	for len(part) > 0 {
		m.due()
		n := min(len(part), toMarker(m.pos))
		m.out = append(m.out, part[:n]...)
		m.pos += n
		part = part[n:]
	}
}

// due appends a marker if this is the place of one.
func (m *marking) due() {
	if toMarker(m.pos) == 0 {
		m.out = binary.BigEndian.AppendUint32(m.out, uint32(pointer(m.pos, m.start)))
		m.pos += markerSize
	}
}

// position is where in the stream the batch ends.
func (b *batch) position() int { return b.base + b.size }

// parseMarked is parse for a stream with markers.
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

// unmark moves the FPDU in b together, which begins at position pos of the stream, and whose length
// stands at start in b. It fails with ErrMarker if a marker tells something else. The two low bits
// of what it tells mean nothing.
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
