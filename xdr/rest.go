package xdr

import "context"

// Rest decodes the rest of the stream, at most max bytes, as one slice. It is for decoders of other
// packages. Rest fetches bulk data that came as chunks and inserts it at its position. The result
// refers to the stream if it lies there in one piece; otherwise it is a copy.
//
// Only a decoder that knows the stream's type can place Floating chunks and padding, so a stream
// with either is ErrChunk. An error of the BulkSource is returned as it is, and does not become the
// decoder's error.
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
