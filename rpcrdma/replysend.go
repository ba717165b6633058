package rpcrdma

import (
	"encoding/binary"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// send posts the chain of work requests. The last one is the Send with the header and the pieces.
func (r *reply) send() {
	l, in, out := r.in.l, r.in, &r.header
	n := r.sendLen()
	if len(r.buf.Bytes) < n {
		buf, err := l.shared.Get(n, 0)
		if err != nil {
			in.abort(err)
			return
		}
		l.shared.Put(r.buf, 0)
		r.buf = buf
	}
	out.XID, out.Version, out.Credits = in.header.XID, wire.ProtocolVersion, 0
	b := out.Append(r.buf.Bytes[:0])
	if out.Type == wire.TypeMsgP {
		b = wire.AppendPadded(b, out, &r.message, r.without)
	} else {
		for _, p := range r.pieces {
			b = append(b, p...)
		}
	}
	r.sendList[0] = r.buf.Sub(0, len(b))
	wr := r.chain.AddSend(r.sendList[:], (*replySent)(r))
	// Both sides must support it (RFC 8797 section 4.1). As in svcrdma, only a call with a single
	// handle says which one to invalidate.
	if l.invalid != 0 && l.peer.Invalidate && out.Type != wire.TypeError {
		if handle, ok := in.header.OneHandle(); ok {
			wr.Op, wr.Invalidate = transport.OpSendInvalidate, transport.STag(handle)
		}
	}
	r.bulk = r.chain.Bulk()
	if err := l.queue.PostReply((*queuedReply)(r)); err != nil {
		r.unposted(err)
	}
}

// sendLen returns the length in bytes of the Send.
func (r *reply) sendLen() int {
	n := r.header.Len()
	if r.header.Type == wire.TypeMsgP {
		return n + wire.PaddedLen(&r.header, &r.message, r.without)
	}
	for _, p := range r.pieces {
		n += len(p)
	}
	return n
}

// queuedReply is a reply as a post.Reply.
type queuedReply reply

// Bulk returns how many bytes of bulk data the reply has.
func (q *queuedReply) Bulk() int { return q.bulk }

// Grant writes a grant into the message, and counts the reply. From then on it waits for the peer.
func (q *queuedReply) Grant() ([]*transport.WorkRequest, error) {
	r := (*reply)(q)
	granted, err := r.grant()
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(r.sendList[0].Bytes[wire.CreditsOffset:], granted)
	r.counted = true
	r.in.l.countReply(r.count(), 1)
	return r.chain.All(), nil
}

// count returns what the reply adds when it is posted.
func (r *reply) count() (n replyCount) {
	out := &r.header
	if out.Type == wire.TypeError { // it has nothing else, whatever was laid out before
		return replyCount{errors: 1}
	}
	for _, p := range r.pieces {
		n.inline += len(p)
	}
	n.replyChunk, n.readChunk = int(out.Reply.Len()), int(r.read.pinned)
	for _, w := range out.Writes {
		n.writeChunk += int(w.Len())
	}
	return n
}

// Unposted ends the call of a reply that waited.
func (q *queuedReply) Unposted(err error) { (*reply)(q).unposted(err) }

// grant accounts for the reply and posts the receives for its grant. From now on it waits for the
// peer.
func (r *reply) grant() (granted uint32, err error) {
	l, in, rs := r.in.l, r.in, r.in.rs
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		l.granter.CallDropped()
		return 0, l.err
	}
	posted, active, owed := l.granter.State()
	terms := credits.ReplyTerms{Requested: in.header.Credits, Allow: l.cfg.Credits}
	if p := rs.pinned; p != nil {
		terms.Owes, terms.Withheld = r.readByPeer(), p.withheldNow()
		r.read.owes = terms.Owes
	}
	switch waiting := rs.share.Waiting(); {
	case terms.Withheld:
		terms.Allow = 0
	case in.server == unavailable:
		terms.Allow = 1
	case waiting > 0 || rs.share.HostWaits():
		terms.Allow = active - waiting // as many as it has calls that do not wait
	}
	terms.Allow = min(terms.Allow, int(min(in.header.Credits, 1<<30))) // no memory for more
	// what was granted, without this call
	room := posted + active - 1 - owed
	if more := terms.Allow - room; more > 0 {
		terms.Allow = room + l.receives.Allow(more)
	}
	granted, n := l.granter.Reply(terms)
	if posted, err := l.receives.Post(n); err != nil {
		if granted = l.granter.NotPosted(n - posted); granted == 0 {
			go l.fail(err)
			return 0, err
		}
	}
	in.server.Granted(granted)
	if in.call != nil {
		in.call.Leaves()
	}
	// A peer that is granted less than it has under way posts no receives for the reply.
	if rs.caller.limited && int(granted) >= active-1 {
		rs.caller.window.ReplySent()
	}
	rs.stalls.add(in, forReply)
	return granted, nil
}

// unposted ends a call whose reply could not be posted.
func (r *reply) unposted(err error) {
	if r.counted {
		r.in.l.countReply(r.count(), -1)
	}
	if !errors.Is(err, net.ErrClosed) {
		r.in.l.fail(err)
	}
	r.in.finish()
}

// replySent is the Completer of the Writes and the Send of a reply.
type replySent reply

// Complete ends the call when its Send is complete, since all that was posted before is then
// complete, too. If the peer will read part of the reply, the call does not end yet.
func (r *replySent) Complete(wr *transport.WorkRequest, err error) {
	in := r.in
	in.l.queue.Completed()
	if wr.Op == transport.OpWrite {
		return
	}
	if r.bulk > 0 {
		in.l.queue.ReplySent(r.bulk)
	}
	if p := in.rs.pinned; p != nil && p.awaitsDone(in, err) {
		return
	}
	in.finish()
}
