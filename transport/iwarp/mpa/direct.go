package mpa

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

const (
	// directFrom is how many bytes of a segment must be still to come for it to be read into place
	// rather than copied there.
	directFrom = 12 << 10

	// directTail is how much is read behind the segment: the header of the next, and small
	// segments, but not much to copy.
	directTail = 4 << 10

	// directPieces is the most pieces that the destination may have. It stays below the 1024 that
	// one readv takes (IOV_MAX).
	directPieces = 960
)

// direct is a segment whose payload the system reads straight into place. This is not done with
// markers, which lie within the payload, nor with CRC: payload must not be delivered before it has
// been checked (RFC 5044 section 8).
type direct struct {
	header [ddp.TaggedLen]byte
	n      int // bytes of payload, in all
	placed int // bytes of payload in place
	tail   int // bytes of padding and CRC behind it
	rest   int // bytes of tail that have not come
	to     [][]byte
	vector vector
}

// placing reports whether segments may be read into place.
func (r *reader) placing() bool { return r.places && !r.crc && !r.markers }

// come returns the number of bytes of the FPDU that have come.
func (d *direct) come() int {
	return lengthSize + ddp.TaggedLen + d.placed + d.tail - d.rest
}

// beginDirect starts to read into place the segment whose header is in the buffer, if that is
// worthwhile. It copies the payload that is already in the buffer.
func (r *reader) beginDirect() bool {
	const payload = lengthSize + ddp.TaggedLen
	d := &r.direct
	if !r.placing() || r.n < payload {
		return false
	}
	b := r.buf[:r.n]
	size := int(binary.BigEndian.Uint16(b))
	n, have := size-ddp.TaggedLen, len(b)-payload
	if n-have < directFrom || !ddp.IsTagged(b[lengthSize:]) {
		return false
	}
	to, ok := r.sink.Lend(d.to[:0], b[lengthSize:payload], n, 0)
	d.to = to
	if !ok {
		return false
	}
	few := len(to) <= directPieces
	if few {
		copyTo(to, b[payload:])
	}
	r.sink.Return()
	clear(to)
	if !few {
		return false
	}
	copy(d.header[:], b[lengthSize:])
	r.aside, r.many = true, false
	d.n, d.placed = n, have
	d.tail = padding(size) + crcSize
	d.rest = d.tail
	r.n = 0
	if !r.whole() {
		r.buf = nil // too small for the tail
	}
	return true
}

// copyTo copies p to the front of pieces.
func copyTo(pieces [][]byte, p []byte) {
	for ; len(p) > 0; pieces = pieces[1:] {
		p = p[copy(pieces[0], p):]
	}
}

// place returns where to read to, and whether that memory is lent by the sink.
func (r *reader) place() (to [][]byte, lent bool) {
	d := &r.direct
	tail := r.space()[:directTail]
	to = d.to[:0]
	if d.placed < d.n {
		if to, lent = r.sink.Lend(to, d.header[:], d.n, d.placed); !lent {
			return append(to, r.buf[:min(d.n-d.placed, bufferSize)]), false // to be dropped
		}
	}
	d.to = append(to, tail)
	return d.to, lent
}

// arrived takes n bytes that were read into the result of place. It returns how many of them are in
// the buffer.
func (r *reader) arrived(n int) (int, error) {
	d := &r.direct
	clear(d.to)
	k := min(n, d.n-d.placed)
	d.placed += k
	n -= k
	k = min(n, d.rest)
	d.rest -= k
	if n -= k; n > 0 {
		copy(r.buf, r.buf[k:k+n])
	}
	if d.placed < d.n || d.rest > 0 {
		return n, nil
	}
	r.aside = false
	r.fpdus++
	return n, r.sink.Placed(d.header[:], d.n)
}
