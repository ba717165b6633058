package rpcrdma

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Reply sends a reply: results through the write chunks offered for them, the rest inline,
// or through the reply chunk if it does not fit (draft section 3.6, 5.2). Where the
// chunks offered are too small, the caller gets ERR_CHUNK (RFC 8166 section 4.5.3).
func (in *incoming) Reply(m xdr.Message) {
	in.reply = m
	if !in.layout() {
		in.c.complain(&in.c.stats.tooLong, "reply refused", in.header.XID, in.tooLong())
		in.refuse(ErrChunk)
		return
	}
	in.send()
}

// tooLong says what does not fit where.
func (in *incoming) tooLong() error {
	h, m := &in.header, &in.reply
	var writes []uint64
	for _, w := range h.Writes {
		writes = append(writes, w.Len())
	}
	var bulk []int
	for i := range m.Bulk {
		bulk = append(bulk, m.Bulk[i].Len)
	}
	return fmt.Errorf("%d bytes and bulk data of %v do not fit in %d inline, a reply chunk of %d, write chunks of %d",
		len(m.Inline), bulk, in.c.limits.InlineSend, h.Reply.Len(), writes)
}

// refuse answers the call with an RDMA_ERROR.
func (in *incoming) refuse(code ErrCode) {
	in.c.stats.errorsSent.Add(1)
	in.begins(1)
	in.out.Type, in.out.Err, in.out.Low, in.out.High = TypeError, code, ProtocolVersion, ProtocolVersion
	in.pieces = in.pieces[:0]
	in.send()
}

// layout fills in the header of the reply and the Writes before its Send, and leaves in pieces what
// goes inline. It reports false if the chunks offered are too small.
func (in *incoming) layout() bool {
	c, h, out, m := in.c, &in.header, &in.out, &in.reply
	out.Type = TypeMsg
	out.Lists.Reset()

	in.without = in.without[:0]
	for i, w := range h.Writes {
		n := 0
		if i < len(m.Bulk) && len(w) > 0 {
			n = m.Bulk[i].Len
			in.without = append(in.without, true)
		} else {
			in.without = append(in.without, false)
		}
		var ok bool
		if in.segs, ok = chunks.Fill(in.segs[:0], w, n); !ok {
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
		in.segs, _ = chunks.Fill(in.segs[:0], h.Reply, 0)
		out.SetReply(in.segs)
	}
	if out.Len()+rest > c.limits.InlineSend {
		var ok bool
		if in.segs, ok = chunks.Fill(in.segs[:0], h.Reply, rest); !ok || out.Len() > c.limits.InlineSend {
			return false
		}
		out.Type = TypeNoMsg
		copy(out.Reply, in.segs)
	}

	n := 1 + len(out.Reply)
	for _, w := range out.Writes {
		n += len(w)
	}
	in.begins(n)
	for i, w := range out.Writes {
		if i < len(m.Bulk) && in.without[i] && !in.write(w, m.Bulk[i].Data, m.Bulk[i].Len) {
			return false
		}
	}
	if out.Type == TypeNoMsg {
		if !in.write(out.Reply, in.pieces, rest) {
			return false
		}
		in.pieces = in.pieces[:0]
	}
	return true
}

// write adds the RDMA Writes of data, n bytes, to the segments filled with it.
func (in *incoming) write(segs []chunks.Segment, data [][]byte, n int) bool {
	c := in.c
	first := len(in.imports)
	if c.importer != nil {
		for _, p := range data {
			if len(p) == 0 {
				continue
			}
			s, err := c.importer.Import(p)
			if err != nil {
				return false
			}
			in.imports = append(in.imports, s)
		}
	} else if n > 0 {
		s, err := c.pool.get(n)
		if err != nil {
			return false
		}
		b := s.Bytes
		for _, p := range data {
			b = b[copy(b, p):]
		}
		in.bounces = append(in.bounces, s)
		in.imports = append(in.imports, s)
	}
	cur := cursor{list: in.imports[first:]}
	for i := range segs {
		s := &segs[i]
		if s.Length == 0 {
			continue
		}
		first := len(in.local)
		in.gather(&cur, int(s.Length))
		in.wrs = append(in.wrs, transport.WorkRequest{
			Op:     transport.OpWrite,
			Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
			Local:  in.local[first:len(in.local):len(in.local)],
			Done:   (*replySent)(in),
		})
	}
	return true
}

// send posts the chain of work requests, ended by the Send of the header and pieces.
func (in *incoming) send() {
	c, out := in.c, &in.out
	if in.buf.Bytes == nil {
		buf, err := c.pool.get(c.limits.InlineSend)
		if err != nil {
			in.abort(err)
			return
		}
		in.buf = buf
	}
	out.XID, out.Version = in.header.XID, ProtocolVersion
	granted, err := c.grant(in)
	if err != nil {
		in.finish()
		return
	}
	out.Credits = granted
	b := out.Append(in.buf.Bytes[:0])
	for _, p := range in.pieces {
		b = append(b, p...)
	}
	in.sendList[0] = in.buf.Sub(0, len(b))
	wr := transport.WorkRequest{
		Op:    transport.OpSend,
		Flags: transport.Signaled,
		Local: in.sendList[:],
		Done:  (*replySent)(in),
	}
	// svcrdma's rule: only a call with one handle says which one to invalidate.
	if c.peer.Invalidate && out.Type != TypeError {
		if handle, ok := in.header.OneHandle(); ok {
			wr.Op, wr.Invalidate = transport.OpSendInvalidate, transport.STag(handle)
		}
	}
	in.wrs = append(in.wrs, wr)
	if err := in.post(); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		in.finish()
	}
}

// grant accounts for a reply about to be sent, posts the receives that its grant calls for, and returns
// the grant.
func (c *Conn) grant(in *incoming) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.granter.Dropped()
		return 0, c.err
	}
	_, active, _ := c.granter.State()
	allow := c.budget.allow(c, active)
	if in.server == nobody {
		allow = 1
	}
	granted, n := c.granter.Reply(credits.Answer{Requested: in.header.Credits, Allow: allow})
	if posted, err := c.post(n); err != nil {
		if granted = c.granter.Short(n - posted); granted == 0 {
			go c.fail(err)
			return 0, err
		}
	}
	c.awaitPeer(in)
	return granted, nil
}

// replySent is told how the Writes and the Send of a reply go.
type replySent incoming

// Complete ends the call when its Send has ended, and with it all that was posted before.
func (r *replySent) Complete(wr *transport.WorkRequest, _ error) {
	in := (*incoming)(r)
	in.c.queue.completed()
	if wr.Op != transport.OpWrite {
		in.finish()
	}
}
