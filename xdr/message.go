package xdr

// Releaser is told, exactly once, that memory is no longer needed.
type Releaser interface{ Release() }

// BulkItem is bulk data beside a stream.
type BulkItem struct {
	Position int      // of the first data byte in the stream
	Len      int      // bytes in Data
	Data     [][]byte // a scatter list
	Release  Releaser // may be nil
}

// Message is an encoded stream: the inline bytes, and the bulk data that belongs
// between them. Neither bulk data nor its round-up is part of Inline.
type Message struct {
	Inline []byte
	Bulk   []BulkItem // by ascending position
	Owner  Releaser   // of Inline; may be nil
}

// Len returns the length in bytes of the whole stream, bulk data and round-up
// included.
func (m *Message) Len() int {
	n := len(m.Inline)
	for i := range m.Bulk {
		n += RoundUp(m.Bulk[i].Len)
	}
	return n
}

// Release gives back every item of bulk data and then the message itself. It is
// called once, by whoever the message was handed to.
func (m *Message) Release() {
	for i := range m.Bulk {
		if r := m.Bulk[i].Release; r != nil {
			m.Bulk[i].Release = nil
			r.Release()
		}
	}
	if r := m.Owner; r != nil {
		m.Owner = nil
		r.Release()
	}
}

// AppendTo appends the whole stream to b.
func (m *Message) AppendTo(b []byte) []byte {
	m.Pieces(func(p []byte) { b = append(b, p...) })
	return b
}

// Pieces calls yield with each run of bytes of the whole stream, in order. The
// runs are references into m; none is empty.
func (m *Message) Pieces(yield func([]byte)) { m.pieces(nil, nil, yield) }

// AppendPieces appends to dst the runs of bytes of the stream without the items marked in
// without, which may be shorter than Bulk: what is left of a message when these
// travel beside it.
func (m *Message) AppendPieces(dst [][]byte, without []bool) [][]byte {
	if len(m.Bulk) == 0 {
		if len(m.Inline) > 0 {
			dst = append(dst, m.Inline)
		}
		return dst
	}
	m.pieces(without, nil, func(p []byte) { dst = append(dst, p) })
	return dst
}

// pieces calls yield with each run of bytes, and item, if it is not nil, with the length of each
// item ahead of its data.
func (m *Message) pieces(without []bool, item func(n int), yield func([]byte)) {
	inline, pos := m.Inline, 0
	for i := range m.Bulk {
		it := &m.Bulk[i]
		if n := it.Position - pos; n > 0 {
			yield(inline[:n:n])
			inline = inline[n:]
		}
		pos = it.Position + RoundUp(it.Len)
		if i < len(without) && without[i] {
			continue
		}
		if item != nil {
			item(it.Len)
		}
		for _, p := range it.Data {
			if len(p) > 0 {
				yield(p)
			}
		}
		if n := PadLen(it.Len); n > 0 {
			yield(zeros[:n:n])
		}
	}
	if len(inline) > 0 {
		yield(inline)
	}
}

// AppendPadded appends the stream to b without the items marked in without, like AppendPieces, and
// puts zeros in front of the data of each other item of thresh bytes or more, up to a multiple of
// align bytes, a power of two, from the beginning of b (draft section 3.9). Opaque data in Inline
// is not padded: thresh must be above the length of any, as the receiver cannot tell them apart.
func (m *Message) AppendPadded(b []byte, without []bool, align, thresh int) []byte {
	m.pieces(without, func(n int) {
		if n >= thresh {
			b = append(b, make([]byte, padding(len(b), align))...)
		}
	}, func(p []byte) { b = append(b, p...) })
	return b
}

// PaddedLen returns the bytes that AppendPadded appends behind the first base.
func (m *Message) PaddedLen(base int, without []bool, align, thresh int) int {
	end := base
	m.pieces(without, func(n int) {
		if n >= thresh {
			end += padding(end, align)
		}
	}, func(p []byte) { end += len(p) })
	return end - base
}
