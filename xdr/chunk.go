package xdr

import "context"

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
	Source BulkSource
	ID     int
}

// Floating is the Position of a Chunk without one.
const Floating = -1

// BulkSource brings bulk data that is not here yet.
type BulkSource interface {
	// Fetch puts the first n bytes of chunk id into dst, filling its slices in order.
	// When it returns, dst is no longer touched.
	Fetch(ctx context.Context, id, n int, dst [][]byte) error
	// Load returns the first n bytes of chunk id in memory of the source's own,
	// which stays until the message is done with, or, with take, until the Releaser
	// is called.
	Load(ctx context.Context, id, n int, take bool) ([]byte, Releaser, error)
}

// Bulk decodes variable-length opaque data of at most max bytes by reference, whether it stands in
// the stream or came beside it. Each call takes a Floating chunk as long as there are any (draft
// section 3.6); if that is empty and the data is not, the data is looked for at its position. The
// length in the stream must be that of the chunk, or shorter by exactly the round-up.
func (d *Decoder) Bulk(max int) Bulk {
	count := d.Uint32()
	if uint64(count) > uint64(max) {
		d.Fail(ErrLimit)
	}
	if d.err != nil {
		return Bulk{}
	}
	n := int(count)
	if len(d.floating) > 0 {
		c := &d.floating[0]
		d.floating = d.floating[1:]
		if c.Len > 0 || n == 0 {
			return d.beside(c, n)
		}
	}
	if len(d.chunks) > 0 && d.chunks[0].Position == d.pos {
		c := &d.chunks[0]
		d.chunks = d.chunks[1:]
		return d.beside(c, n)
	}
	p := d.counted(n)
	return Bulk{n: len(p), data: p}
}

// BulkInto decodes variable-length opaque data into p, which is the limit of its length, and
// returns what of p was filled. Data that landed there already, as a buffer of a call's results, is
// not moved; data that is not here yet is fetched. If decoding fails, nothing of p counts as
// filled. A buffer that serves several calls is passed in its full length each time.
//
// It is for results. A handler would wait without a context: for its arguments there are Bulk and
// FetchInto.
func (d *Decoder) BulkInto(p []byte) []byte {
	b := d.Bulk(len(p))
	if b.Ready() {
		return p[:b.CopyTo(p)]
	}
	if err := b.FetchInto(context.Background(), [][]byte{p[:b.n]}); err != nil {
		d.Fail(err)
		return p[:0]
	}
	return p[:b.n]
}

// beside returns the n bytes of an item that came as chunk c.
func (d *Decoder) beside(c *Chunk, n int) Bulk {
	if (c.Len != n && c.Len != RoundUp(n)) || (c.Source == nil && len(c.Data) < n) {
		d.Fail(ErrChunk)
		return Bulk{}
	}
	d.pos += RoundUp(n)
	if c.Source == nil {
		return Bulk{n: n, data: c.Data[:n:n]}
	}
	src := c.Source
	if d.via != nil {
		src = d.via(src)
	}
	return Bulk{n: n, src: src, id: c.ID}
}
