package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// layoutReads lays out a reply that fits neither inline nor in the reply chunk: bulk data for which there is no write chunk becomes read chunks, and if
// that does not suffice, what is left goes to the reply chunk (draft section 5.2), or is a read chunk, too, at position zero (3.8, 5.1). It reports
// false if that is not possible either.
func (in *incoming) layoutReads(s *Settings) bool {
	out, m := &in.out, &in.reply
	if s.PeerReads == 0 || m.Len() > in.c.cfg.MaxMessage {
		return false
	}
	for len(in.without) < len(m.Bulk) {
		in.without = append(in.without, false)
	}
	plan, err := chunks.PlanReply(m, in.without, out.Len(), in.header.Reply.Len(), in.c.limits(s, s.MaxReplySend))
	if err != nil {
		return false
	}
	in.reading = in.reading[:0]
	for i := range m.Bulk {
		read := !in.without[i] && m.Bulk[i].Len >= plan.ReadChunkFrom
		in.reading = append(in.reading, read)
		in.without[i] = in.without[i] || read
	}
	if in.addReads(plan.Long, s) {
		return true
	}
	// Once more, with as few windows as there can be. Those that there are end with the call.
	in.copies = true
	return in.addReads(plan.Long, s)
}

// addReads adds what is to be read. It reports false where that is not possible, or takes
// more segments than the header holds, as the memory is scattered.
func (in *incoming) addReads(long bool, s *Settings) bool {
	out, m := &in.out, &in.reply
	out.Reads, in.pinned = out.Reads[:0], 0
	in.pieces = m.AppendPieces(in.pieces[:0], in.without)
	rest := 0
	for _, p := range in.pieces {
		rest += len(p)
	}
	if long {
		if !in.fillReply(rest) { // the first entry (draft section 5.1)
			out.Type = TypeNoMsg
			if !in.addRead(0, in.pieces, rest) {
				return false
			}
			in.pieces = in.pieces[:0]
		}
		rest = 0
	}
	for i, read := range in.reading {
		if it := &m.Bulk[i]; read && !in.addRead(it.Position, it.Data, it.Len) {
			return false
		}
	}
	return out.Len()+rest <= s.MaxReplySend && out.Segments() <= chunks.MaxSegments
}

// addRead exposes data, n bytes, until the peer has read it, and adds it to the read list.
func (in *incoming) addRead(position int, data [][]byte, n int) bool {
	c := in.c
	list, ok := in.source(data, n, transport.RemoteRead)
	if !ok {
		return false
	}
	first := len(in.regions)
	var err error
	if in.regions, err = c.ep.Expose(in.regions, list, transport.RemoteRead); err != nil {
		return false
	}
	in.segs = c.split(in.segs[:0], in.regions[first:])
	for _, s := range in.segs {
		in.out.Reads = append(in.out.Reads, chunks.ReadSegment{Position: uint32(position), Segment: s})
	}
	in.pinned += int64(n)
	return true
}
