package rpcrdma

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Reply sends a reply: results through the write chunks offered for them, the rest inline,
// or through the reply chunk if it does not fit (draft sections 3.6, 5.2). Where the
// chunks offered are too small, the caller gets ERR_CHUNK (RFC 8166 section 4.5.3), or, in the Draft, read chunks
// (draftreads.go).
func (in *incoming) Reply(m xdr.Message) {
	in.reply = m
	if !in.layout() {
		in.c.fault(&in.c.stats.tooLong, "reply refused", in.header.XID, in.tooLong())
		in.refuse(ErrChunk)
		return
	}
	if c := in.c; in.pinned > 0 && !c.budget.pin(in) {
		c.stats.withheld.Add(1) // another goroutine may have sent it by now
		return
	}
	in.send()
}

// tooLong says what does not fit where.
func (in *incoming) tooLong() error {
	h, m := &in.header, &in.reply
	if n := m.Len(); in.c.rules.replyReads && n > in.c.cfg.MaxMessage {
		return &oncrpc.ReplyTooLongError{Len: n, Max: in.c.cfg.MaxMessage}
	}
	var writes []uint64
	for _, w := range h.Writes {
		writes = append(writes, w.Len())
	}
	var bulk []int
	for i := range m.Bulk {
		bulk = append(bulk, m.Bulk[i].Len)
	}
	return fmt.Errorf("%d bytes and bulk data of %v do not fit in %d inline, a reply chunk of %d, write chunks of %d",
		len(m.Inline), bulk, in.c.settings.Load().MaxReplySend, h.Reply.Len(), writes)
}

// refuse answers the call with an RDMA_ERROR.
func (in *incoming) refuse(code ErrCode) {
	in.c.stats.errorsSent.Add(1)
	in.chain.begins(1, &in.c.info)
	in.pinned = 0
	in.out.Type, in.out.Err, in.out.Low, in.out.High = TypeError, code, ProtocolVersion, ProtocolVersion
	in.pieces = in.pieces[:0]
	in.send()
}

// layout fills in the header of the reply and the Writes before its Send, and leaves in pieces what
// goes inline. It reports false if the chunks offered are too small.
func (in *incoming) layout() bool {
	c, h, out, m := in.c, &in.header, &in.out, &in.reply
	s := c.settings.Load()
	out.Type = TypeMsg
	out.Lists.Reset()

	in.without = in.without[:0]
	for i, w := range h.Writes {
		n := 0
		uses := i < len(m.Bulk) && len(w) > 0
		if uses && c.rules.replyReads && uint64(m.Bulk[i].Len) > w.Len() {
			uses = false // it can go elsewhere
		}
		if uses {
			n = m.Bulk[i].Len
		}
		in.without = append(in.without, uses)
		var ok bool
		if in.segs, ok = chunks.Distribute(in.segs[:0], w, n); !ok {
			return false
		}
		out.AddWrite(in.segs)
	}
	in.pieces = m.AppendPieces(in.pieces[:0], in.without)
	rest := 0
	for _, p := range in.pieces {
		rest += len(p)
	}
	if h.HasReply {
		in.segs, _ = chunks.Distribute(in.segs[:0], h.Reply, 0)
		out.SetReply(in.segs)
	}
	switch {
	case out.Len()+rest <= s.MaxReplySend:
		in.pad(s)
	case out.Len() <= s.MaxReplySend && in.fillReply(rest):
	case !c.rules.replyReads || !in.layoutReads(s):
		return false
	}

	n := 1 + len(out.Reply)
	for _, w := range out.Writes {
		n += len(w)
	}
	in.chain.begins(n, &c.info)
	for i, w := range out.Writes {
		if i < len(m.Bulk) && in.without[i] && w.Len() > 0 {
			if !in.write(w, m.Bulk[i].Data, m.Bulk[i].Len) {
				return false
			}
			if c.rules.roundUp { // of the lengths, not of what is written
				chunks.AddRoundUp(w, h.Writes[i], m.Bulk[i].Len)
			}
		}
	}
	if n := out.Reply.Len(); n > 0 {
		if !in.write(out.Reply, in.pieces, int(n)) {
			return false
		}
		in.pieces = in.pieces[:0]
	}
	return true
}

// fillReply has n bytes of message go through the reply chunk, and reports whether they fit.
func (in *incoming) fillReply(n int) bool {
	var ok bool
	if in.segs, ok = chunks.Distribute(in.segs[:0], in.header.Reply, n); ok {
		in.out.Type = TypeNoMsg
		copy(in.out.Reply, in.segs)
	}
	return ok
}

// write adds the RDMA Writes of data, n bytes, to the segments filled with it.
func (in *incoming) write(segs []chunks.Segment, data [][]byte, n int) bool {
	list, ok := in.source(data, n, 0)
	if !ok {
		return false
	}
	cur := cursor{list: list}
	for i := range segs {
		if s := &segs[i]; s.Length > 0 {
			in.chain.add(transport.OpWrite, s, int(s.Length), &cur, (*replySent)(in), nil)
		}
	}
	return true
}

// source names data, n bytes, to the provider, which sends it or, with RemoteRead, lets
// the peer read it until the call is finished.
func (in *incoming) source(data [][]byte, n int, access transport.Access) ([]transport.Slice, bool) {
	c := in.c
	first := len(in.imports)
	if c.importer != nil && (!in.copies || len(data) == 1 || access == 0) {
		for _, p := range data {
			if len(p) == 0 {
				continue
			}
			s, err := c.importer.Import(p, access)
			if err != nil {
				return nil, false
			}
			in.imports = append(in.imports, s)
		}
		return in.imports[first:], true
	}
	if n == 0 {
		return nil, true
	}
	s, err := c.pool.get(n, access)
	if err != nil {
		return nil, false
	}
	b := s.Bytes
	for _, p := range data {
		b = b[copy(b, p):]
	}
	copied := &in.bounces
	if access != 0 {
		copied = &in.exposed
	}
	*copied = append(*copied, s)
	return (*copied)[len(*copied)-1:], true
}
