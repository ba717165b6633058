package rpcrdma

import (
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// send posts the chain of work requests. The last one is the Send with the header and the pieces.
func (r *reply) send() {
	c, in, out := r.in.c, r.in, &r.header
	n := r.sendLen()
	if len(r.buf.Bytes) < n {
		buf, err := c.pool.get(n, 0)
		if err != nil {
			in.abort(err)
			return
		}
		c.pool.put(r.buf, 0)
		r.buf = buf
	}
	out.XID, out.Version, out.Credits = in.header.XID, ProtocolVersion, 0
	b := out.Append(r.buf.Bytes[:0])
	if out.Type == TypeMsgP {
		b = appendPadded(b, &r.message, r.without, int(out.Align), r.thresh)
	} else {
		for _, p := range r.pieces {
			b = append(b, p...)
		}
	}
	r.sendList[0] = r.buf.Sub(0, len(b))
	r.chain.wrs = append(r.chain.wrs, transport.WorkRequest{})
	wr := &r.chain.wrs[len(r.chain.wrs)-1]
	wr.Op, wr.Flags, wr.Local, wr.Done = transport.OpSend, transport.Signaled, r.sendList[:], (*replySent)(r)
	// Both sides must support it (RFC 8797 section 4.1). As in svcrdma, only a call with a single
	// handle says which one to invalidate.
	if c.invalid != 0 && c.peer.Invalidate && out.Type != TypeError {
		if handle, ok := in.header.OneHandle(); ok {
			wr.Op, wr.Invalidate = transport.OpSendInvalidate, transport.STag(handle)
		}
	}
	r.bulk = r.chain.bulk()
	if err := c.queue.postReply(r); err != nil {
		r.unposted(err)
	}
}

// unposted ends a call whose reply could not be posted.
func (r *reply) unposted(err error) {
	if !errors.Is(err, net.ErrClosed) {
		r.in.c.fail(err)
	}
	r.in.finish()
}

// sendLen returns the length in bytes of the Send.
func (r *reply) sendLen() int {
	n := r.header.Len()
	if r.header.Type == TypeMsgP {
		return n + paddedLen(n, &r.message, r.without, int(r.header.Align), r.thresh)
	}
	for _, p := range r.pieces {
		n += len(p)
	}
	return n
}

// replySent is the Completer of the Writes and the Send of a reply.
type replySent reply

// Complete ends the call when its Send is complete, since all that was posted before is then
// complete, too. If the peer will read part of the reply, the call does not end yet.
func (r *replySent) Complete(wr *transport.WorkRequest, err error) {
	in := r.in
	in.c.queue.completed()
	if wr.Op == transport.OpWrite {
		return
	}
	if r.bulk > 0 {
		in.c.queue.replySent(r.bulk)
	}
	if d := in.c.draft; d != nil && d.awaitsDone(in, err) {
		return
	}
	in.finish()
}
