package matrix

import (
	"cmp"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// checkHeader checks what calls and replies have in common.
func (a *audit) checkHeader(what string, from end, h *header) {
	if !a.ours[from] {
		return
	}
	if h.credit == 0 {
		a.fail("%s: no credits", what)
	}
	if h.proc == msgp && (!a.draft || h.align == 0 || h.align&(h.align-1) != 0) {
		a.fail("%s: RDMA_MSGP with an alignment of %d", what, h.align)
	}
	for i, r := range h.reads {
		switch {
		case r.length == 0 || int(r.length) > a.segment[from]:
			a.fail("%s: read segment of %d bytes", what, r.length)
		case r.position%4 != 0:
			a.fail("%s: read chunk at %d", what, r.position)
		case i > 0 && h.reads[i-1].position > r.position:
			a.fail("%s: read chunk at %d behind that at %d", what, r.position, h.reads[i-1].position)
		}
	}
	if from == client {
		for _, c := range append(slices.Clone(h.writes), h.reply) {
			for _, s := range c {
				empty := s.length == 0 && len(c) > 1 // a single one keeps a place
				if empty || int(s.length) > a.segment[client] {
					a.fail("%s: write segment of %d bytes", what, s.length)
				}
			}
		}
	}
}

// readChunks returns the read chunks of a message by position. Each has what the receiver read
// between the message and until.
func (a *audit) readChunks(what string, h *header, from end, message, until *event) (chunks []readChunk) {
	byPosition := make(map[uint32]chunk)
	for _, r := range h.reads {
		byPosition[r.position] = append(byPosition[r.position], r.segment)
	}
	for position, segs := range byPosition {
		data := a.transferred(segs, read, from.peer(), message, until)
		chunks = append(chunks, readChunk{int(position), segs.len(), data})
	}
	slices.SortFunc(chunks, func(a, b readChunk) int { return cmp.Compare(a.position, b.position) })
	// A chunk that inserts nothing is dropped.
	return slices.DeleteFunc(chunks, func(c readChunk) bool { return c.len == 0 && !a.ours[from] })
}

// transferred returns the bytes that an end moved from or to the segments of a chunk, between two
// messages. It checks that they start at the beginning, without gaps, and move once.
func (a *audit) transferred(segs chunk, k kind, by end, after, before *event) []byte {
	data := make([]byte, segs.len())
	have := make([]bool, len(data))
	n := 0
	for i := range a.log {
		e := &a.log[i]
		if e.kind != k || e.end != by || a.used[e] {
			continue
		}
		length := max(len(e.data), e.asked)
		at, ok := segs.find(e.remote, length)
		if !ok || e.at < after.at {
			continue
		}
		a.used[e] = true
		if before != nil && max(e.at, e.ended) > before.at {
			a.fail("an operation of the %v on a chunk of transaction %x is not over when the message that ends it leaves", by, after.data[:4])
		}
		if len(e.data) < length {
			a.fail("a Read of the %v that has not come to its end", by)
			continue
		}
		n += copy(data[at:], e.data)
		for j := range length {
			if have[at+j] {
				a.fail("byte %d of a chunk is moved twice", at+j)
			}
			have[at+j] = true
		}
	}
	for i := range min(n, len(have)) {
		if !have[i] {
			a.fail("byte %d of a chunk is not moved, %d others are", i, n)
			break
		}
	}
	return data[:min(n, len(data))]
}

// find returns the offset in the chunk of n bytes at r. They must lie inside one segment.
func (c chunk) find(r transport.Remote, n int) (at int, ok bool) {
	for _, s := range c {
		if uint32(r.STag) == s.handle && r.Offset >= s.offset && r.Offset+uint64(n) <= s.offset+uint64(s.length) {
			return at + int(r.Offset-s.offset), true
		}
		at += int(s.length)
	}
	return 0, false
}

// returned checks a chunk in a reply against the offered one: it has the same segments, filled in
// order (draft section 3.6), and the round-up counts only in the length (section 3.7).
func (a *audit) returned(offered, got chunk) {
	if !a.ours[server] {
		return
	}
	if len(got) != len(offered) {
		a.fail("%d segments returned of %d", len(got), len(offered))
		return
	}
	full, excess := true, 0
	if a.draft && got.len()%4 == 0 {
		excess = -offered.len() & 3
	}
	for i, g := range got {
		o := offered[i]
		switch {
		case g.handle != o.handle || g.offset != o.offset:
			a.fail("segment %d returned is another one", i)
		case int(g.length) > int(o.length)+excess:
			a.fail("%d bytes returned of a segment of %d", g.length, o.length)
		case g.length > 0 && !full:
			a.fail("segment %d is used behind one that is not full", i)
		}
		full = g.length == o.length
	}
}
