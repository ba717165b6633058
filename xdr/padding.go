package xdr

// Padding describes how a sender moved opaque data to aligned places of the inline bytes
// (RDMA_MSGP, draft section 3.9). Padding is not part of the stream, and positions do not count it.
type Padding struct {
	Align     int // bytes, a power of two; 0 or 1 means no padding
	Threshold int // bytes: variable-length opaque data of this length or more is padded
	Base      int // bytes from the origin of alignment to the first inline byte
}

// SetPadding makes the decoder skip padding before data that Opaque, String and Bulk find inline.
// The padding's bytes may have any value. Call it once, right after Reset.
func (d *Decoder) SetPadding(p Padding) {
	d.align, d.threshold = p.Align, p.Threshold
	d.end += p.Base
}

// counted decodes n bytes of variable-length opaque data that are inline.
func (d *Decoder) counted(n int) []byte {
	if d.align > 1 && n >= d.threshold {
		d.skip(padding(d.end-d.Remaining(), d.align))
	}
	return d.Fixed(n)
}

// skip passes over n inline bytes that are not part of the stream.
func (d *Decoder) skip(n int) {
	switch {
	case n > d.Remaining():
		d.Fail(ErrShort)
	case n <= len(d.buf):
		d.buf = d.buf[n:]
	default:
		d.buf, d.more = d.more[n-len(d.buf):], nil
	}
}

// padding returns the number of bytes from offset at to the next multiple of align.
func padding(at, align int) int {
	if align <= 1 {
		return 0
	}
	return -at & (align - 1)
}
