package xdr

import "context"

// Chunk is bulk data that arrived separately from the inline bytes of a stream.
type Chunk struct {
	// Position is where in the stream the data belongs. It is Floating for a write chunk, which the
	// next call of Decoder.Bulk takes (draft section 3.6).
	Position int
	// Len is the length of the data in bytes. It may include the round-up.
	Len int
	// Data is the data, if it has arrived.
	Data []byte
	// Source fetches the data if it has not arrived. ID names the chunk to Source.
	Source BulkSource
	ID     int
}

// Floating is the Position of a Chunk that has no position.
const Floating = -1

// BulkSource fetches bulk data that has not arrived. It calls w.Arrived, unless w is nil.
type BulkSource interface {
	// Fetch writes the first n bytes of chunk id into dst, filling its slices in order. It does not
	// touch dst after it returns.
	Fetch(ctx context.Context, id, n int, dst [][]byte, w BulkWatcher) error
	// Load returns the first n bytes of chunk id in memory that the source owns. The memory stays
	// valid until the message is released or, if take is true, until the Releaser is called.
	Load(ctx context.Context, id, n int, take bool, w BulkWatcher) ([]byte, Releaser, error)
}

// BulkWatcher sees bulk data as it is fetched, before it is handed out.
type BulkWatcher interface {
	// Arrived gets the data of one fetch in pieces, in order, each as soon as it has arrived:
	// then it is still in a cache of the processor. Arrived is called on any goroutine, must not
	// block, and may not keep p.
	Arrived(p []byte)
	// Fetched is called when a fetch of n bytes has ended with err. The fetch returns the result
	// of Fetched, and no data if that is an error.
	Fetched(n int, err error) error
}

// Bulk decodes variable-length opaque data of at most max bytes by reference, whether it is in the
// stream or came as a chunk. Each call takes the next Floating chunk while there is one (draft
// section 3.6). If that chunk is empty and the data is not, Bulk looks for the data at its
// position. The length in the stream must equal the chunk's length, or be shorter by exactly the
// round-up.
func (d *Decoder) Bulk(max int) Bulk {
	count := d.Uint32()
	if uint64(count) > uint64(max) {
		d.failLimit(count, max)
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

// BulkInto decodes variable-length opaque data of at most len(p) bytes into p, and returns the part
// of p that it filled. Data that already landed in p, as a buffer for a call's results, is not
// moved. Data that has not arrived is fetched. If decoding fails, BulkInto returns an empty slice.
// To use a buffer for several calls, pass it in its full length each time.
//
// BulkInto is for results. It has no context, so handlers should decode arguments with Bulk and
// Bulk.FetchInto instead.
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
	return Bulk{n: n, src: c.Source, id: c.ID, watcher: d.watcher}
}
