package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// fetchReply fetches the read chunks of a reply into memory of the pool (draft section 3.5). It goes by completions and never blocks:
// the last of them sends the RDMA_DONE and wakes the caller. A caller who gives up meanwhile leaves that to go on.
func (c *Conn) fetchReply(k *call, m message, serves bool) {
	h := &c.header
	k.granted = h.Credits
	if serves && h.Type == TypeNoMsg {
		k.doubtful = &Header{}
		k.doubtful.copy(h) // it may be a call of the peer's
	}
	err := k.accept(h, m)
	if err == nil {
		err = k.fetch()
	}
	if err == nil {
		return
	}
	c.mu.Lock()
	delete(c.pending, k.xid)
	c.mu.Unlock()
	k.end(err, k.granted)
}

// fetch posts the RDMA Reads.
func (k *call) fetch() error {
	c := k.c
	if c.settings.Load().Reads == 0 {
		return transport.ErrNoReads
	}
	n := 0
	for i := range k.reads {
		n += len(k.reads[i].Segments)
	}
	k.chain.begins(n)
	for i := range k.reads {
		ch := &k.reads[i]
		s, err := c.pool.get(ch.Len)
		if err != nil {
			return err
		}
		k.loads = append(k.loads, s)
		k.chain.addReads(ch.Segments, ch.Len, k.loads[len(k.loads)-1:], (*replyRead)(k))
	}
	k.readErr = nil
	k.gated = c.gated()
	return c.postReads(&k.chain, k.gated)
}

// replyRead is told how the Reads of a reply go.
type replyRead call

// Complete ends the call when the last Read is complete.
func (r *replyRead) Complete(wr *transport.WorkRequest, err error) {
	k := (*call)(r)
	c := k.c
	c.queue.completed()
	if k.readErr == nil {
		k.readErr = err
	}
	last := wr.Context == nil
	if k.gated {
		defer c.readDone()
	}
	if !last {
		return
	}
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return // ended: the call is delivered with the others
	}
	if k.readErr == nil && k.isCall() {
		in := c.handOver(k)
		c.mu.Unlock()
		in.admit()
		return
	}
	delete(c.pending, k.xid)
	c.mu.Unlock()
	if err = k.readErr; err == nil {
		err = k.assemble()
	}
	k.end(err, k.granted)
}

// isCall reports whether what was taken for a reply is a call of the peer's, with a transaction id that one of ours has, too.
func (k *call) isCall() bool {
	if k.doubtful == nil || !k.long {
		return false
	}
	b := k.loads[0].Bytes
	return len(b) >= 8 && oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) == oncrpc.MsgCall
}

// handOver has the call wait for its reply again, and makes an incoming of the peer's; c.mu is held.
func (c *Conn) handOver(k *call) *incoming {
	in := c.accept(k.recv, message{}, k.doubtful)
	k.recv, k.doubtful = nil, nil
	k.fetching, k.owes, k.long = false, false, false
	k.info.ReplyRead = 0
	for _, s := range k.loads {
		c.pool.put(s)
	}
	clear(k.loads)
	k.loads, k.reads, k.written = k.loads[:0], k.reads[:0], k.written[:0]
	return in
}

// assemble makes the message of what was fetched.
func (k *call) assemble() error {
	reads, loads := k.reads, k.loads
	if k.long {
		b := loads[0].Bytes
		if len(b) < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) != oncrpc.MsgReply {
			return fmt.Errorf("%w: no reply in the chunk at position 0", ErrMalformed)
		}
		if binary.BigEndian.Uint32(b) != k.xid {
			return ErrXID
		}
		k.message = message{body: b}
		reads, loads = reads[1:], loads[1:]
	}
	for i := range reads {
		k.written = append(k.written, xdr.Chunk{Position: reads[i].Position, Len: reads[i].Len, Data: loads[i].Bytes})
	}
	return nil
}

// acceptReads checks the read list of a reply, beside which inline bytes of message stand.
func (k *call) acceptReads(h *Header, inline int) error {
	var err error
	if k.reads, err = h.ReadChunks(k.reads[:0], k.c.cfg.MaxMessage); err != nil {
		return err
	}
	k.long = len(k.reads) > 0 && k.reads[0].Position == 0
	switch {
	case len(k.reads) == 0 && h.Type == TypeNoMsg && h.Reply.Len() == 0:
		return fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed)
	case k.long && (h.Type != TypeNoMsg || h.Reply.Len() > 0):
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	case k.long:
		err = chunks.CheckPositions(k.reads[1:], k.reads[0].Len)
	default:
		err = chunks.CheckPositions(k.reads, inline)
	}
	for i := range k.reads {
		k.info.ReplyRead += k.reads[i].Len
	}
	return err
}

// sendDone tells the peer that it may free the chunks of its reply (draft section 3.8). From then on the DONE has the credit of the call.
func (k *call) sendDone() {
	c := k.c
	buf, err := c.pool.get(chunks.FixedLen)
	if err != nil {
		c.fail(err)
		return
	}
	h := Header{XID: k.xid, Version: ProtocolVersion, Credits: uint32(c.cfg.Credits), Type: TypeDone}
	k.doneBuf = buf
	k.doneList[0] = buf.Sub(0, len(h.Append(buf.Bytes[:0])))
	k.refs.Add(1)
	c.stats.donesSent.Add(1)
	if err := c.queue.post(k.doneArgs[:]); err != nil {
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		return
	}
	c.window.Done(k.credit)
}
