package xdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Encoder appends items to an XDR stream. The zero value is ready to use. Reset lets it be used
// again with the same buffers.
type Encoder struct {
	buf   []byte
	bulk  int // bytes left out of buf, round-up included
	items []BulkItem
	segs  [][]byte // backing of the items' scatter lists
	err   error
	ended bool
}

// Invalidate ends the stream: encoding anything more panics until Reset. Whoever lends an encoder
// to others calls it when their use must end. A goroutine that keeps the encoder too long then
// fails at once, and damages nothing.
func (e *Encoder) Invalidate() { e.ended = true }

// check panics if the stream has ended.
func (e *Encoder) check() {
	if e.ended {
		panic("xdr: Encoder used after its stream has ended" + lateUse)
	}
}

// Reset starts a new stream in the same buffers.
func (e *Encoder) Reset() {
	e.ended = false
	e.buf = e.buf[:0]
	e.bulk = 0
	clear(e.items)
	e.items = e.items[:0]
	clear(e.segs)
	e.segs = e.segs[:0]
	e.err = nil
}

// Position returns the length in bytes of the stream so far.
func (e *Encoder) Position() int { return len(e.buf) + e.bulk }

// Err returns the first error.
func (e *Encoder) Err() error { return e.err }

// Fail sets the encoder's error to err, unless it already has an error.
func (e *Encoder) Fail(err error) {
	e.check()
	if e.err == nil {
		e.err = err
	}
}

// Message returns what was encoded. It refers to the encoder's buffers, so it is valid until Reset.
func (e *Encoder) Message() Message { return Message{Inline: e.buf, Bulk: e.items} }

// Mark is a position in a stream for Rewind to return to.
type Mark struct {
	buf, bulk, items, segs int
	err                    error
}

// Mark returns the current end of the stream.
func (e *Encoder) Mark() Mark { return Mark{len(e.buf), e.bulk, len(e.items), len(e.segs), e.err} }

// Rewind removes everything encoded since m, including an error, and releases the bulk data in it.
func (e *Encoder) Rewind(m Mark) {
	e.check()
	e.buf = e.buf[:m.buf]
	e.bulk = m.bulk
	for i := m.items; i < len(e.items); i++ {
		if r := e.items[i].Release; r != nil {
			r.Release()
		}
	}
	clear(e.items[m.items:])
	e.items = e.items[:m.items]
	clear(e.segs[m.segs:])
	e.segs = e.segs[:m.segs]
	e.err = m.err
}

// Uint32 appends an unsigned integer (RFC 4506 section 4.2).
func (e *Encoder) Uint32(v uint32) {
	e.check()
	e.buf = binary.BigEndian.AppendUint32(e.buf, v)
}

// Int32 appends an integer, or an enumeration (RFC 4506 sections 4.1 and 4.3).
func (e *Encoder) Int32(v int32) { e.Uint32(uint32(v)) }

// Uint64 appends an unsigned hyper integer (RFC 4506 section 4.5).
func (e *Encoder) Uint64(v uint64) {
	e.check()
	e.buf = binary.BigEndian.AppendUint64(e.buf, v)
}

// Int64 appends a hyper integer (RFC 4506 section 4.5).
func (e *Encoder) Int64(v int64) { e.Uint64(uint64(v)) }

// Float32 appends a floating-point number (RFC 4506 section 4.6).
func (e *Encoder) Float32(v float32) { e.Uint32(math.Float32bits(v)) }

// Float64 appends a double-precision floating-point number (RFC 4506 section 4.7).
func (e *Encoder) Float64(v float64) { e.Uint64(math.Float64bits(v)) }

// Bool appends a boolean (RFC 4506 section 4.4).
func (e *Encoder) Bool(v bool) {
	if v {
		e.Uint32(1)
	} else {
		e.Uint32(0)
	}
}

// Optional appends whether optional-data is present (RFC 4506 section 4.19), and returns present.
// If it is, encode the data next:
//
//	if e.Optional(next != nil) {
//		next.MarshalXDR(e)
//	}
func (e *Encoder) Optional(present bool) bool {
	e.Bool(present)
	return present
}

// Fixed appends fixed-length opaque data (RFC 4506 section 4.9).
func (e *Encoder) Fixed(p []byte) {
	e.check()
	e.buf = append(e.buf, p...)
	e.buf = append(e.buf, zeros[:PadLen(len(p))]...)
}

// Opaque appends a copy of variable-length opaque data (RFC 4506 section 4.10). Data longer than
// max is ErrLimit.
func (e *Encoder) Opaque(p []byte, max int) {
	if e.count(len(p), max) {
		e.Fixed(p)
	}
}

// String appends a string (RFC 4506 section 4.11). A string longer than max is ErrLimit.
func (e *Encoder) String(s string, max int) {
	if e.count(len(s), max) {
		e.buf = append(e.buf, s...)
		e.buf = append(e.buf, zeros[:PadLen(len(s))]...)
	}
}

// Raw appends bytes that are already XDR. Several calls may append an item in pieces, as with
// m.Pieces(e.Raw), if the total is a multiple of four.
func (e *Encoder) Raw(p []byte) {
	e.check()
	e.buf = append(e.buf, p...)
}

// Extend appends n bytes, a multiple of four, and returns them. They may hold old data, so the
// caller must fill all of them before using the encoder again.
func (e *Encoder) Extend(n int) []byte {
	e.check()
	end := len(e.buf) + n
	e.buf = slices.Grow(e.buf, n)[:end]
	return e.buf[end-n : end : end]
}

// Append appends a whole stream that was encoded elsewhere. It copies the inline bytes and refers
// to the bulk data. The owner of m releases that bulk data; this stream does not.
func (e *Encoder) Append(m *Message) {
	e.check()
	base := e.Position()
	e.buf = append(e.buf, m.Inline...)
	for i := range m.Bulk {
		it := &m.Bulk[i]
		first := len(e.segs)
		e.segs = append(e.segs, it.Data...)
		e.items = append(e.items, BulkItem{
			Position: base + it.Position,
			Len:      it.Len,
			Data:     e.segs[first:len(e.segs):len(e.segs)],
		})
		e.bulk += RoundUp(it.Len)
	}
}

// Bulk appends variable-length opaque data by reference: it encodes the length word, and leaves the
// data where it is. It copies the slice headers in data, but not the bytes, which must not change
// until release is called. Release may be nil. If Bulk fails, it calls release itself.
//
// A transport may move data encoded with Bulk by RDMA. The upper layer's binding says which data
// may be moved like that (for NFS, RFC 8267).
func (e *Encoder) Bulk(data [][]byte, release Releaser) {
	n := 0
	for _, p := range data {
		n += len(p)
	}
	if !e.count(n, math.MaxInt32) {
		if release != nil {
			release.Release()
		}
		return
	}
	first := len(e.segs)
	e.segs = append(e.segs, data...)
	e.items = append(e.items, BulkItem{
		Position: e.Position(),
		Len:      n,
		Data:     e.segs[first:len(e.segs):len(e.segs)],
		Release:  release,
	})
	e.bulk += RoundUp(n)
}

// BulkBytes is Bulk for a single slice.
func (e *Encoder) BulkBytes(p []byte, release Releaser) {
	one := [1][]byte{p}
	e.Bulk(one[:], release)
}

// count appends a length word. It fails and returns false if n is above max.
func (e *Encoder) count(n, max int) bool {
	if n > max || n > math.MaxUint32 {
		e.Fail(fmt.Errorf("xdr: encode %d bytes, %d allowed: %w", n, max, ErrLimit))
		return false
	}
	e.Uint32(uint32(n))
	return true
}
