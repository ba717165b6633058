package xdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Decoder reads items from an XDR stream. The zero value decodes an empty stream.
type Decoder struct {
	buf      []byte  // inline bytes not decoded yet
	more     []byte  // more of them, in a second buffer
	pos      int     // position in the stream
	floating []Chunk // not taken yet, in order
	chunks   []Chunk // the others, by position
	watcher  BulkWatcher
	err      error
	ended    bool

	// For padding: where the inline bytes end, counted from the origin of alignment, and the fields
	// of Padding.
	end, align, threshold int
}

// NewDecoder returns a decoder for a stream without chunks.
func NewDecoder(inline []byte) *Decoder { return &Decoder{buf: inline, end: len(inline)} }

// Reset makes d decode a new stream. The Floating chunks come first, in the order in which Bulk
// takes them; the others follow by ascending position. The decoder keeps references to both slices.
func (d *Decoder) Reset(inline []byte, chunks []Chunk) {
	n := 0
	for n < len(chunks) && chunks[n].Position == Floating {
		n++
	}
	*d = Decoder{} // separately: a literal with all fields would be built on the stack first
	d.buf, d.floating, d.chunks, d.end = inline, chunks[:n], chunks[n:], len(inline)
}

// Invalidate ends the stream and drops all references to it. Decoding anything more panics until
// Reset. Whoever lends a decoder to others calls it when their use must end, as with
// Encoder.Invalidate.
func (d *Decoder) Invalidate() {
	*d = Decoder{}
	d.ended = true
}

// check panics if the stream has ended.
func (d *Decoder) check() {
	if d.ended {
		panic("xdr: Decoder used after its stream has ended" + lateUse)
	}
}

// AppendInline adds a second run of inline bytes, for a message that arrived in two buffers. Call
// it at most once, right after Reset. An item that lies across both buffers is copied; all others
// are decoded by reference.
func (d *Decoder) AppendInline(more []byte) {
	d.more = more
	d.end += len(more)
}

// Watch lets w see all bulk data that is fetched. It reports whether there is any: a chunk that has
// not arrived. Call it right after Reset.
func (d *Decoder) Watch(w BulkWatcher) bool {
	d.watcher = w
	away := func(c Chunk) bool { return c.Source != nil && c.Len > 0 }
	return slices.ContainsFunc(d.floating, away) || slices.ContainsFunc(d.chunks, away)
}

// Position returns the number of stream bytes decoded so far.
func (d *Decoder) Position() int { return d.pos }

// Remaining returns the number of inline bytes not decoded yet, padding included.
func (d *Decoder) Remaining() int { return len(d.buf) + len(d.more) }

// Err returns the first error, a *DecodeError.
func (d *Decoder) Err() error { return d.err }

// Fail sets the decoder's error to a *DecodeError around err, unless it already has an error.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = &DecodeError{d.pos, err}
		d.buf, d.more = nil, nil
	}
}

// failLimit says that a length in the stream is over the limit.
func (d *Decoder) failLimit(n uint32, max int) {
	d.Fail(fmt.Errorf("%d where %d are allowed: %w", n, max, ErrLimit))
}

// Finish returns the first error. Bytes left over (ErrTrailing) and chunks left over (ErrChunk) are
// errors, but empty Floating chunks are not.
func (d *Decoder) Finish() error {
	if d.Remaining() > 0 {
		d.Fail(ErrTrailing)
	}
	for i := range d.floating {
		if d.floating[i].Len > 0 {
			d.Fail(ErrChunk)
		}
	}
	if len(d.chunks) > 0 {
		d.Fail(ErrChunk)
	}
	return d.err
}

// next returns the next n bytes of the stream, all of them inline.
func (d *Decoder) next(n int) []byte {
	if uint(n) > uint(len(d.buf)) { // also after an error
		return d.across(n)
	}
	if d.misplaced(n) {
		return nil
	}
	p := d.buf[:n:n]
	d.buf = d.buf[n:]
	d.pos += n
	return p
}

// across is next for bytes that are not all in buf. Afterwards the rest of the stream is in buf.
func (d *Decoder) across(n int) []byte {
	d.check()
	if n < 0 || n > d.Remaining() {
		d.Fail(ErrShort)
		return nil
	}
	if d.misplaced(n) {
		return nil
	}
	first := d.buf
	k := n - len(first)
	second := d.more[:k:k]
	d.buf, d.more = d.more[k:], nil
	d.pos += n
	if len(first) == 0 {
		return second
	}
	return append(append(make([]byte, 0, n), first...), second...)
}

// misplaced fails, and returns true, if a chunk begins inside the next n bytes, which are inline.
func (d *Decoder) misplaced(n int) bool {
	if len(d.chunks) == 0 || d.chunks[0].Position >= d.pos+n {
		return false
	}
	d.Fail(ErrChunk)
	return true
}

// Uint32 decodes an unsigned integer (RFC 4506 section 4.2).
func (d *Decoder) Uint32() uint32 {
	if len(d.buf) >= 4 && len(d.chunks) == 0 { // the most frequent item by far: avoid the call
		v := binary.BigEndian.Uint32(d.buf)
		d.buf = d.buf[4:]
		d.pos += 4
		return v
	}
	p := d.next(4)
	if p == nil {
		return 0
	}
	return binary.BigEndian.Uint32(p)
}

// Int32 decodes an integer (RFC 4506 section 4.1).
func (d *Decoder) Int32() int32 { return int32(d.Uint32()) }

// Uint64 decodes an unsigned hyper integer (RFC 4506 section 4.5).
func (d *Decoder) Uint64() uint64 {
	p := d.next(8)
	if p == nil {
		return 0
	}
	return binary.BigEndian.Uint64(p)
}

// Int64 decodes a hyper integer (RFC 4506 section 4.5).
func (d *Decoder) Int64() int64 { return int64(d.Uint64()) }

// Float32 decodes a floating-point number (RFC 4506 section 4.6).
func (d *Decoder) Float32() float32 { return math.Float32frombits(d.Uint32()) }

// Float64 decodes a double-precision floating-point number (RFC 4506 section 4.7).
func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

// Bool decodes a boolean, which is 0 or 1 (RFC 4506 section 4.4).
func (d *Decoder) Bool() bool { return d.Enum(1) == 1 }

// Optional decodes whether optional-data is present (RFC 4506 section 4.19). If it is, decode the
// data next:
//
//	if d.Optional() {
//		next = new(Node)
//		next.UnmarshalXDR(d)
//	}
//
// It returns false after an error. Decode a linked list in a loop: with recursion, the peer would
// choose the depth of the stack.
func (d *Decoder) Optional() bool { return d.Bool() }

// DecodeEnum decodes an enumeration (RFC 4506 section 4.3). A value that is not in values is
// ErrValue, and DecodeEnum returns 0.
func DecodeEnum[E ~int32](d *Decoder, values ...E) E {
	v := E(d.Int32())
	if !slices.Contains(values, v) {
		d.Fail(ErrValue)
		return 0
	}
	return v
}

// Enum decodes an enumeration that names every value from 0 to max. Use DecodeEnum for enumerations
// with gaps or negative values.
func (d *Decoder) Enum(max uint32) uint32 {
	v := d.Uint32()
	if v > max {
		d.Fail(ErrValue)
		return 0
	}
	return v
}

// Count decodes the length of an array (RFC 4506 section 4.13) of at most max elements, each of at
// least size bytes. A length that the remaining bytes cannot hold is ErrShort, so it is safe to
// allocate that many elements.
func (d *Decoder) Count(max, size int) int {
	n := d.Uint32()
	if uint64(n) > uint64(max) {
		d.failLimit(n, max)
		return 0
	}
	if uint64(n)*uint64(size) > uint64(d.Remaining()) {
		d.Fail(ErrShort)
		return 0
	}
	return int(n)
}

// Fixed decodes n bytes of fixed-length opaque data (RFC 4506 section 4.9). The result
// refers to the stream.
func (d *Decoder) Fixed(n int) []byte {
	p := d.next(RoundUp(n))
	if p == nil {
		return nil
	}
	for _, b := range p[n:] {
		if b != 0 {
			d.Fail(ErrPadding)
			return nil
		}
	}
	return p[:n:n]
}

// Opaque decodes variable-length opaque data (RFC 4506 section 4.10) of at most max bytes that is
// part of the stream. The result refers to the stream.
func (d *Decoder) Opaque(max int) []byte {
	n := d.Uint32()
	if uint64(n) > uint64(max) {
		d.failLimit(n, max)
		return nil
	}
	return d.counted(int(n))
}

// String decodes a string (RFC 4506 section 4.11) of at most max bytes.
func (d *Decoder) String(max int) string { return string(d.Opaque(max)) }

// Raw decodes n bytes, a multiple of four, without interpreting them.
func (d *Decoder) Raw(n int) []byte { return d.next(n) }
