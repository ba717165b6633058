package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// readInstead lays out a reply that fits neither inline nor in the reply chunk. Bulk data without a
// write chunk becomes read chunks. If the rest is still too long, it goes to the reply chunk (draft
// section 5.2), or becomes a read chunk at position zero (sections 3.8 and 5.1). readInstead
// reports false if the reply does not fit even so.
func (r *reply) readInstead(s *Settings) bool {
	l, out, m, rd := r.in.l, &r.header, &r.message, &r.read
	if s.PeerReads == 0 || m.Len() > l.cfg.MaxMessage {
		return false
	}
	for len(r.without) < len(m.Bulk) {
		r.without = append(r.without, false)
	}
	limits := l.limits(s, s.MaxReplySend)
	plan, err := chunks.PlanReply(m, r.without, out.Len(), r.in.header.Reply.Len(), limits)
	if err != nil {
		return false
	}
	rd.items = rd.items[:0]
	for i := range m.Bulk {
		read := !r.without[i] && m.Bulk[i].Len >= plan.ReadChunkFrom
		rd.items = append(rd.items, read)
		r.without[i] = r.without[i] || read
	}
	if r.addReads(plan.Long, s) {
		return true
	}
	// Try again with as few windows as possible. The windows opened already end with the call.
	rd.copies = true
	return r.addReads(plan.Long, s)
}

// addReads adds the read chunks. It reports false if that is not possible, or if scattered memory
// takes more segments than the header holds.
func (r *reply) addReads(long bool, s *Settings) bool {
	out, m := &r.header, &r.message
	out.Reads, r.read.pinned = out.Reads[:0], 0
	r.pieces = m.AppendPieces(r.pieces[:0], r.without)
	rest := 0
	for _, p := range r.pieces {
		rest += len(p)
	}
	if long {
		if !r.fillReply(rest) { // the first entry (draft section 5.1)
			out.Type = wire.TypeNoMsg
			if !r.addRead(0, r.pieces, rest) {
				return false
			}
			r.pieces = r.pieces[:0]
		}
		rest = 0
	}
	for i, read := range r.read.items {
		if it := &m.Bulk[i]; read && !r.addRead(it.Position, it.Data, it.Len) {
			return false
		}
	}
	return out.Len()+rest <= s.MaxReplySend && out.Segments() <= chunks.MaxSegments
}

// addRead exposes n bytes of data for the peer, and adds them to the read list.
func (r *reply) addRead(position int, data [][]byte, n int) bool {
	l, rd := r.in.l, &r.read
	list, err := r.exposable(data, n)
	first := len(rd.regions)
	if err == nil {
		rd.regions, err = l.ep.Expose(rd.regions, list, transport.RemoteRead)
	}
	if err != nil {
		return false
	}
	r.segs = l.split(r.segs[:0], rd.regions[first:])
	for _, s := range r.segs {
		r.header.Reads = append(r.header.Reads,
			chunks.ReadSegment{Position: uint32(position), Segment: s})
	}
	rd.pinned += int64(n)
	return true
}

// exposable returns memory that can be exposed, with n bytes of data, until the call is finished.
func (r *reply) exposable(data [][]byte, n int) ([]transport.Slice, error) {
	l := r.in.l
	if l.importer != nil && (!r.read.copies || len(data) == 1) {
		return l.imported(&r.imports, data, transport.RemoteRead)
	}
	if n == 0 {
		return nil, nil
	}
	return l.copied(&r.read.exposed, data, n, transport.RemoteRead)
}
