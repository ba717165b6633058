package xdr

import (
	"context"
	"encoding/binary"
)

// Chunk is bulk data that arrived beside the inline bytes of a stream.
type Chunk struct {
	// Position in the stream, or Floating for data whose place shows only while
	// decoding: the next Bulk takes it (a write chunk, draft section 3.6).
	Position int
	// Len is the length of the data in bytes; it may include the round-up.
	Len int
	// Data is where the data lies, if it is here already.
	Data []byte
	// Source fetches it otherwise, and ID is Source's own name for it.
	Source Source
	ID     int
}

// Floating is the Position of a Chunk without one.
const Floating = -1

// Source brings bulk data that is not here yet.
type Source interface {
	// Fetch puts the first n bytes of chunk id into dst, filling its slices in order.
	// When it returns, dst is no longer touched.
	Fetch(ctx context.Context, id, n int, dst [][]byte) error
	// Load returns the first n bytes of chunk id in memory of the source's own,
	// which stays until the message is done with, or, with take, until the Releaser
	// is called.
	Load(ctx context.Context, id, n int, take bool) ([]byte, Releaser, error)
}

// Decoder reads items from an XDR stream. The zero value decodes an empty stream.
type Decoder struct {
	buf    []byte // inline bytes not decoded yet
	pos    int    // position in the stream
	chunks []Chunk
	err    error
}

// NewDecoder returns a decoder of a stream without chunks.
func NewDecoder(inline []byte) *Decoder { return &Decoder{buf: inline} }

// Reset makes d decode a stream from its inline bytes and its chunks, which are
// ordered by position.
func (d *Decoder) Reset(inline []byte, chunks []Chunk) {
	*d = Decoder{buf: inline, chunks: chunks}
}

// Position returns the bytes of the stream decoded so far.
func (d *Decoder) Position() int { return d.pos }

// Remaining returns the inline bytes not decoded yet.
func (d *Decoder) Remaining() int { return len(d.buf) }

// Err returns the first error, a *DecodeError.
func (d *Decoder) Err() error { return d.err }

// Fail makes err the decoder's error unless it has one.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = &DecodeError{d.pos, err}
		d.buf = nil
	}
}

// Finish returns the first error; bytes or chunks left over are one.
func (d *Decoder) Finish() error {
	if len(d.buf) > 0 {
		d.Fail(ErrTrailing)
	}
	for _, c := range d.chunks {
		if c.Len > 0 || c.Position != Floating {
			d.Fail(ErrChunk)
		}
	}
	return d.err
}

// next returns the next n bytes of the stream, all of them inline.
func (d *Decoder) next(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.buf) {
		d.Fail(ErrShort)
		return nil
	}
	// A chunk that begins inside this item has a false position.
	if len(d.chunks) > 0 && d.chunks[0].Position != Floating && d.chunks[0].Position < d.pos+n {
		d.Fail(ErrChunk)
		return nil
	}
	p := d.buf[:n:n]
	d.buf = d.buf[n:]
	d.pos += n
	return p
}

// Uint32 decodes an unsigned integer (RFC 4506 section 4.2).
func (d *Decoder) Uint32() uint32 {
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

// Bool decodes a boolean, which is 0 or 1 (RFC 4506 section 4.4).
func (d *Decoder) Bool() bool { return d.Enum(1) == 1 }

// Enum decodes an unsigned enumeration whose largest value is max.
func (d *Decoder) Enum(max uint32) uint32 {
	v := d.Uint32()
	if v > max {
		d.Fail(ErrValue)
		return 0
	}
	return v
}

// Count decodes the length of an array (RFC 4506 section 4.13) of at most max elements, each
// of at least size bytes; a length that the remaining bytes cannot hold is ErrShort,
// so that it may be used to allocate.
func (d *Decoder) Count(max, size int) int {
	n := d.Uint32()
	if uint64(n) > uint64(max) {
		d.Fail(ErrLimit)
		return 0
	}
	if uint64(n)*uint64(size) > uint64(len(d.buf)) {
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

// Opaque decodes variable-length opaque data (RFC 4506 section 4.10) of at most max bytes
// that is part of the stream. The result refers to the stream.
func (d *Decoder) Opaque(max int) []byte {
	n := d.Uint32()
	if uint64(n) > uint64(max) {
		d.Fail(ErrLimit)
		return nil
	}
	return d.Fixed(int(n))
}

// String decodes a string (RFC 4506 section 4.11) of at most max bytes.
func (d *Decoder) String(max int) string { return string(d.Opaque(max)) }

// Raw decodes n bytes, a multiple of four, as they are.
func (d *Decoder) Raw(n int) []byte { return d.next(n) }

// Bulk decodes variable-length opaque data of at most max bytes by reference,
// whether it stands in the stream or came beside it. The length in the stream must
// be that of the chunk, or shorter by exactly the round-up.
func (d *Decoder) Bulk(max int) Bulk {
	count := d.Uint32()
	if uint64(count) > uint64(max) {
		d.Fail(ErrLimit)
	}
	if d.err != nil {
		return Bulk{}
	}
	n := int(count)
	if len(d.chunks) == 0 || (d.chunks[0].Position != Floating && d.chunks[0].Position != d.pos) {
		p := d.Fixed(n)
		return Bulk{n: len(p), data: p}
	}
	c := d.chunks[0]
	if c.Position == Floating && c.Len == 0 && n > 0 {
		// An unused write chunk: the data is inline after all.
		d.chunks = d.chunks[1:]
		p := d.Fixed(n)
		return Bulk{n: len(p), data: p}
	}
	if (c.Len != n && c.Len != RoundUp(n)) || (c.Source == nil && len(c.Data) < n) {
		d.Fail(ErrChunk)
		return Bulk{}
	}
	d.chunks = d.chunks[1:]
	d.pos += RoundUp(n)
	if c.Source == nil {
		return Bulk{n: n, data: c.Data[:n:n]}
	}
	return Bulk{n: n, src: c.Source, id: c.ID}
}

// Continue adds a second run of inline bytes behind the first: a message that arrived in two buffers. They are joined by a copy only if an
// item lies across both.
func (d *Decoder) Continue(more []byte) { panic("not yet") }

// Padding is how a sender has moved opaque data to aligned places of the inline bytes (RDMA_MSGP,
// draft section 3.9). Padding is not part of the stream: positions do not count it.
type Padding struct {
	Align     int // bytes, a power of two; 0 or 1: no padding
	Threshold int // counted opaque data of that length or more is padded
	Base      int // bytes in front of the stream from where alignment counts
}

// SetPadding has the decoder skip padding from now on. It comes behind Reset and Continue.
func (d *Decoder) SetPadding(p Padding) { panic("not yet") }
