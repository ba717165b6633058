package rpcrdma

import (
	"encoding/binary"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// send posts the chain of work requests, ended by the Send of the header and pieces.
func (in *incoming) send() {
	c, out := in.c, &in.out
	n := in.sendLen()
	if len(in.buf.Bytes) < n {
		buf, err := c.pool.get(n, 0)
		if err != nil {
			in.abort(err)
			return
		}
		c.pool.put(in.buf, 0)
		in.buf = buf
	}
	out.XID, out.Version, out.Credits = in.header.XID, ProtocolVersion, 0
	b := out.Append(in.buf.Bytes[:0])
	if out.Type == TypeMsgP {
		b = in.reply.AppendPadded(b, in.without, int(out.Align), in.thresh)
	} else {
		for _, p := range in.pieces {
			b = append(b, p...)
		}
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
	in.chain.wrs = append(in.chain.wrs, wr)
	if err := c.queue.postReply(in); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		in.finish()
	}
}

// sendLen returns the length in bytes of the Send.
func (in *incoming) sendLen() int {
	n := in.out.Len()
	if in.out.Type == TypeMsgP {
		return n + in.reply.PaddedLen(n, in.without, int(in.out.Align), in.thresh)
	}
	for _, p := range in.pieces {
		n += len(p)
	}
	return n
}

// grant accounts for a reply about to be sent, posts the receives that its grant calls for, and
// writes the grant into the message.
func (in *incoming) grant() error {
	c := in.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		c.responder.granter.CallDropped()
		return c.err
	}
	posted, active, owed := c.responder.granter.State()
	allow, withheld := c.budget.allow(c, active)
	if in.server == nobody {
		allow = 1
	}
	allow = min(allow, int(min(in.header.Credits, 1<<30)))
	room := posted + active - 1 - owed // what was granted, but for this call
	if more := allow - room; more > 0 {
		allow = room + c.supply.allow(more)
	}
	in.owes = in.out.Type != TypeError && len(in.out.Reads) > 0
	granted, n := c.responder.granter.Reply(credits.ReplyTerms{Requested: in.header.Credits, Allow: allow, Owes: in.owes, Withheld: withheld})
	if posted, err := c.supply.post(n); err != nil {
		if granted = c.responder.granter.NotPosted(n - posted); granted == 0 {
			go c.fail(err)
			return err
		}
	}
	c.stalls.add(in)
	binary.BigEndian.PutUint32(in.sendList[0].Bytes[creditsOffset:], granted)
	return nil
}

// replySent is told how the Writes and the Send of a reply go.
type replySent incoming

// Complete ends the call when its Send has ended, and with it all that was posted before; unless
// the peer has still to read some of the reply.
func (r *replySent) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	in.c.queue.completed()
	if wr.Op != transport.OpWrite && (in.pinned == 0 || !in.awaitsDone(err)) {
		in.finish()
	}
}
