package mpa

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

const (
	// directFrom is how many bytes of a segment have to be on their way still for it to be read to
	// its place, rather than copied there.
	directFrom = 12 << 10

	// directTail is how much is read behind the segment: the header of the next, and small ones,
	// but not much to copy.
	directTail = 4 << 10

	// directPieces is the most pieces that its place may be in, below the 1024 that one readv takes
	// (IOV_MAX).
	directPieces = 960
)

// direct is a segment of which the system puts the payload where it belongs. That is not done where
// there are markers, which lie between, nor with CRC: what has not been checked is not to be
// delivered (RFC 5044 section 8).
type direct struct {
	header [ddp.TaggedLen]byte
	n      int // bytes of payload
	placed int // of these
	tail   int // bytes behind it, the padding and the CRC
	rest   int // of these, how many have not come
	to     [][]byte
	vector vector
}

// placing reports whether segments may be read to their place.
func (r *reader) placing() bool { return r.places && !r.crc && !r.markers }

// come is the number of bytes of the FPDU that have come.
func (d *direct) come() int {
	return lengthSize + ddp.TaggedLen + d.placed + d.tail - d.rest
}

// beginDirect begins with the segment whose header is in the buffer, if it is worth while. What of
// its payload is there, too, is copied.
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
		r.buf = nil // has no room for the tail
	}
	return true
}

// copyTo copies p to the front of pieces.
func copyTo(pieces [][]byte, p []byte) {
	for ; len(p) > 0; pieces = pieces[1:] {
		p = p[copy(pieces[0], p):]
	}
}

// place returns where to read to, and whether it was lent.
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

// arrived takes n bytes that were read to where place says, and returns how many of them are in the
// buffer.
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
