package xdr

// Releaser is called exactly once, when memory is no longer needed.
type Releaser interface{ Release() }

// BulkItem is bulk data of a stream, kept outside its inline bytes.
type BulkItem struct {
	Position int      // of the first data byte in the stream
	Len      int      // bytes in Data
	Data     [][]byte // a scatter list
	Release  Releaser // may be nil
}

// Message is an encoded stream: the inline bytes, and the bulk data that belongs between them.
// Inline contains neither the bulk data nor its round-up.
type Message struct {
	Inline []byte
	Bulk   []BulkItem // by ascending position
	Owner  Releaser   // of Inline; may be nil
}

// Len returns the length in bytes of the whole stream, including bulk data and its round-up.
func (m *Message) Len() int {
	n := len(m.Inline)
	for i := range m.Bulk {
		n += RoundUp(m.Bulk[i].Len)
	}
	return n
}

// Release releases every bulk item, then the message itself. Whoever was given the message calls it
// once.
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

// Pieces calls yield with each run of bytes of the whole stream, in order. The runs refer to m.
// None is empty.
func (m *Message) Pieces(yield func([]byte)) { m.pieces(nil, nil, yield) }

// AppendPieces appends to dst the runs of bytes of the stream, except the items marked in without,
// which the transport moves separately. The slice without may be shorter than Bulk.
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

// pieces calls yield with each run of bytes. If item is not nil, pieces calls it with the length of
// each item before the item's data.
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

// AppendPadded appends the stream to b, except the items marked in without, and pads it (draft
// section 3.9). Padding is zeros before the data of each item of thresh bytes or more. It moves
// that data to a multiple of align bytes, a power of two, from the beginning of b. Opaque data in
// Inline is not padded, and a receiver cannot tell it apart. So thresh must exceed the length of
// any opaque data in Inline.
func (m *Message) AppendPadded(b []byte, without []bool, align, thresh int) []byte {
	m.pieces(without, func(n int) {
		if n >= thresh {
			b = append(b, make([]byte, padding(len(b), align))...)
		}
	}, func(p []byte) { b = append(b, p...) })
	return b
}

// PaddedLen returns how many bytes AppendPadded appends to base bytes.
func (m *Message) PaddedLen(base int, without []bool, align, thresh int) int {
	end := base
	m.pieces(without, func(n int) {
		if n >= thresh {
			end += padding(end, align)
		}
	}, func(p []byte) { end += len(p) })
	return end - base
}
