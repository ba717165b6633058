package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// fetchReply fetches the read chunks of a reply into memory of the pool (draft section 3.5). It goes by completions and never blocks:
// the last of them sends the RDMA_DONE and wakes the caller. A caller who gives up meanwhile leaves that to go on.
func (cl *caller) fetchReply(k *call) {
	if under, err := k.fetch(); err != nil || !under {
		k.fetched(err)
	}
}

// fetched ends the call with what was fetched, or with an error.
func (k *call) fetched(err error) {
	c := k.c
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return // ended: the call is delivered with the others
	}
	delete(c.caller.pending, k.xid)
	c.mu.Unlock()
	if err == nil {
		err = k.assemble()
	}
	k.end(err)
}

// fetch posts the RDMA Reads, and reports whether there are any: a message that was taken for a call may be here already.
func (k *call) fetch() (under bool, err error) {
	c := k.c
	if c.settings.Load().Reads == 0 {
		return false, transport.ErrNoReads
	}
	reads := k.reads[len(k.loads):]
	if len(reads) == 0 {
		return false, nil
	}
	n := 0
	for i := range reads {
		n += len(reads[i].Segments)
	}
	k.chain.begins(n, &c.info)
	for i := range reads {
		ch := &reads[i]
		s, err := c.pool.get(ch.Len, transport.LocalWrite)
		if err != nil {
			return false, err
		}
		k.loads = append(k.loads, s)
		k.chain.addReads(ch.Segments, ch.Len, k.loads[len(k.loads)-1:], (*replyRead)(k))
	}
	k.readErr = nil
	k.gated = c.gate.limits()
	return true, c.gate.post(&k.chain, k.gated)
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
		defer c.gate.done()
	}
	if !last {
		return
	}
	if k.readErr != nil {
		c.fail(k.readErr) // if it has not ended already, which ends the call
		return
	}
	k.fetched(nil)
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

// checkReads checks the read list of a reply, beside which inline bytes of message stand, and what was written.
func (k *call) checkReads(h *Header, inline int) error {
	var err error
	if k.reads, err = h.readChunks(k.reads[:0], k.c.cfg.MaxMessage); err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.ReplyTooLongError{Max: k.c.cfg.MaxMessage}, err)
		}
		return err
	}
	reads := k.reads
	k.long = len(reads) > 0 && reads[0].Position == 0
	if k.long {
		reads, inline = reads[1:], reads[0].Len
	}
	for _, w := range h.Writes {
		inline += xdr.RoundUp(int(min(w.Len(), math.MaxInt32)))
	}
	return chunks.CheckPositions(reads, inline)
}

// sendDone tells the peer that it may free the chunks of its reply (draft section 3.8). From then on the DONE has the credit of the call.
func (k *call) sendDone() {
	c := k.c
	buf, err := c.pool.get(chunks.FixedLen, 0)
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
	c.caller.window.DoneSent()
}
