package rpcrdma

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// reply is the reply to a call. Results go to the write chunks offered for them. The rest goes
// inline, or if it does not fit, to the reply chunk (draft sections 3.6 and 5.2). If the chunks are
// too small, the caller gets ERR_CHUNK (RFC 8166 section 4.5.3), or in the Draft read chunks
// (draftreads.go).
type reply struct {
	in      *incoming
	message xdr.Message
	header  wire.Header
	without []bool // for each item of bulk data: whether it does not go inline
	segs    []chunks.Segment
	pieces  [][]byte          // what goes inline, or to the reply chunk
	imports []transport.Slice // imported memory with data for chunks
	bounces []transport.Slice // memory of the pool with copies of such data
	read    readReply         // the part that the peer will read
	failed  error             // why there is no memory for the reply

	chain    post.Chain      // the Writes and the Send
	counted  bool            // the reply counts in Stats and Traffic
	bulk     int             // bytes of the Writes, if they count as bulk data
	buf      transport.Slice // memory of the Send
	sendList [1]transport.Slice
}

// tooLong returns an error that says what does not fit where.
func (r *reply) tooLong() error {
	l, h, m := r.in.l, r.in.header, &r.message
	if n := m.Len(); l.isDraft() && n > l.cfg.MaxMessage {
		return &oncrpc.ReplyTooLongError{Len: n, Max: l.cfg.MaxMessage}
	}
	var writes []uint64
	for _, w := range h.Writes {
		writes = append(writes, w.Len())
	}
	var bulk []int
	for i := range m.Bulk {
		bulk = append(bulk, m.Bulk[i].Len)
	}
	return fmt.Errorf("reply of %d bytes and bulk data of %v bytes does not fit: room for %d inline, "+
		"a reply chunk of %d, write chunks of %d",
		len(m.Inline), bulk, l.settings.Load().MaxReplySend, h.Reply.Len(), writes)
}

// layout fills in the header of the reply and the Writes before its Send. What goes inline is in
// pieces afterwards. It reports false if the chunks offered are too small, or if there is no memory
// for the reply; then failed says so.
func (r *reply) layout() bool {
	l, h, out, m := r.in.l, r.in.header, &r.header, &r.message
	s := l.settings.Load()
	out.Type = wire.TypeMsg
	out.Lists.Reset()

	r.without = r.without[:0]
	if len(h.Writes) > 0 && !r.distribute() {
		return false
	}
	r.pieces = m.AppendPieces(r.pieces[:0], r.without)
	rest := 0
	for _, p := range r.pieces {
		rest += len(p)
	}
	if h.HasReply {
		r.segs, _ = chunks.Distribute(r.segs[:0], h.Reply, 0)
		out.SetReply(r.segs)
	}
	switch {
	case out.Len()+rest <= s.MaxReplySend:
		if s.PeerAlign > 0 {
			wire.Pad(out, m, r.without, s.PeerAlign, s.MaxReplySend, l.cfg.MinChunk)
		}
	case out.Len() <= s.MaxReplySend && r.fillReply(rest):
	case !l.isDraft() || !r.readInstead(s):
		return false
	}

	if len(out.Writes)+len(out.Reply) > 0 {
		return r.addWrites()
	}
	r.chain.Begin(1, &l.info)
	return true
}

// distribute assigns the results to the write chunks offered, and adds these to the header of the
// reply. It reports false if they are too small.
func (r *reply) distribute() bool {
	h, m := r.in.header, &r.message
	for i, w := range h.Writes {
		n := 0
		uses := i < len(m.Bulk) && w.Len() > 0
		if uses && r.in.l.isDraft() && uint64(m.Bulk[i].Len) > w.Len() {
			uses = false // the peer can read it instead
		}
		if uses {
			n = m.Bulk[i].Len
		}
		r.without = append(r.without, uses)
		var ok bool
		if r.segs, ok = chunks.Distribute(r.segs[:0], w, n); !ok {
			return false
		}
		r.header.AddWrite(r.segs)
	}
	return true
}

// addWrites adds RDMA Writes for the write chunks and the reply chunk. It reports false if there is
// no memory for them.
func (r *reply) addWrites() bool {
	l, h, out, m := r.in.l, r.in.header, &r.header, &r.message
	n := 1 + len(out.Reply)
	for _, w := range out.Writes {
		n += len(w)
	}
	r.chain.Begin(n, &l.info)
	for i, w := range out.Writes {
		if i < len(m.Bulk) && r.without[i] && w.Len() > 0 {
			if !r.write(w, m.Bulk[i].Data, m.Bulk[i].Len) {
				return false
			}
			if l.isDraft() { // changes the returned lengths, but not what is written
				chunks.AddRoundUp(w, h.Writes[i], m.Bulk[i].Len)
			}
		}
	}
	if n := out.Reply.Len(); n > 0 {
		if !r.write(out.Reply, r.pieces, int(n)) {
			return false
		}
		r.pieces = r.pieces[:0]
	}
	return true
}

// fillReply assigns n bytes of message to the reply chunk, and reports whether they fit.
func (r *reply) fillReply(n int) bool {
	var ok bool
	if r.segs, ok = chunks.Distribute(r.segs[:0], r.in.header.Reply, n); ok {
		r.header.Type = wire.TypeNoMsg
		copy(r.header.Reply, r.segs)
	}
	return ok
}

// write adds RDMA Writes of n bytes of data to segments.
func (r *reply) write(segs []chunks.Segment, data [][]byte, n int) bool {
	list, err := r.source(data, n)
	if err != nil {
		r.failed = err
		return false
	}
	r.chain.AddWrites(segs, list, (*replySent)(r))
	return true
}

// source returns memory with n bytes of data that the provider can send. It stays until the call is
// finished.
func (r *reply) source(data [][]byte, n int) ([]transport.Slice, error) {
	l := r.in.l
	if l.importer != nil {
		return l.imported(&r.imports, data, 0)
	}
	if n == 0 {
		return nil, nil
	}
	return l.copied(&r.bounces, data, n, 0)
}

// readByPeer reports whether the peer will read part of the reply.
func (r *reply) readByPeer() bool {
	return r.header.Type != wire.TypeError && len(r.header.Reads) > 0
}

// layoutError makes the reply an RDMA_ERROR.
func (r *reply) layoutError(code wire.ErrCode) {
	r.chain.Begin(1, &r.in.l.info)
	r.read.pinned = 0
	out := &r.header
	out.Type, out.Err = wire.TypeError, code
	out.Low, out.High = wire.ProtocolVersion, wire.ProtocolVersion
	r.pieces = r.pieces[:0]
}

// release gives back the memory of the reply.
func (r *reply) release() {
	l := r.in.l
	r.message.Release()
	r.imports = l.endImports(r.imports)
	if l.isDraft() {
		r.read.release(l.shared.Pool)
	}
	for _, s := range r.bounces {
		l.shared.Put(s, 0)
	}
	clear(r.bounces)
	clear(r.pieces)
	l.shared.Put(r.buf, 0)
	r.header.Lists.Reset()
	r.message, r.buf, r.sendList[0] = xdr.Message{}, transport.Slice{}, transport.Slice{}
	r.failed, r.counted = nil, false
	r.bounces, r.pieces, r.chain = r.bounces[:0], r.pieces[:0], r.chain.Cleared()
}
