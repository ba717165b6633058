package xdr

import "context"

// Rest decodes all that is left of the stream, at most max bytes, as one run of bytes: for decoders
// that are not of this package. Bulk data that came beside the stream is fetched to its place.
// The bytes refer to the stream where they stand there in one piece, and are a copy elsewhere.
//
// Only the type of a stream tells where a Floating chunk or padding belongs. A stream that has
// either is ErrChunk. An error of the BulkSource is returned as it is, and is not the decoder's.
func (d *Decoder) Rest(ctx context.Context, max int) ([]byte, error) {
	d.check()
	n := d.Remaining()
	for i := range d.chunks {
		n += RoundUp(d.chunks[i].Len)
	}
	for i := range d.floating {
		if d.floating[i].Len > 0 {
			d.Fail(ErrChunk)
		}
	}
	if d.align > 1 {
		d.Fail(ErrChunk)
	}
	if n > max {
		d.Fail(ErrLimit)
	}
	if d.err != nil {
		return nil, d.err
	}
	if len(d.chunks) == 0 {
		return d.next(n), nil
	}
	p := make([]byte, 0, n)
	for len(d.chunks) > 0 {
		c := &d.chunks[0]
		if c.Position < d.pos {
			d.Fail(ErrChunk)
		}
		p = append(p, d.next(c.Position-d.pos)...)
		if d.err != nil {
			return nil, d.err
		}
		d.chunks = d.chunks[1:]
		b := d.beside(c, c.Len)
		if d.err != nil {
			return nil, d.err
		}
		data := p[len(p) : len(p)+c.Len]
		p = p[:len(p)+RoundUp(c.Len)] // zeros so far
		if err := b.FetchInto(ctx, [][]byte{data}); err != nil {
			return nil, err
		}
	}
	return append(p, d.next(d.Remaining())...), nil
}
