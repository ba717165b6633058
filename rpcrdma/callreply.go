package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// received takes the reply to a call of this side, or the error in it.
func (cl *caller) received(r *memory.Receive, err error) {
	l := cl.l
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	l.receives.Arrived(r)
	cl.heard++
	c := cl.conclude(r, err, cl.heard, nil)
	l.mu.Unlock()
	c.goOn()
}

// conclusion is how a call goes on after its reply has come.
type conclusion struct {
	k        *call // nil: no call awaits the reply
	fetching bool  // the chunks of the reply are to be fetched
	err      error
}

// conclude finds the call that a reply belongs to, and accounts for the reply. number is its place
// among the replies that have come. fetched is set if it is a long message that was first taken for
// a call: it has that message, which the call's replyFetch, if any, takes over. Conn.mu is held;
// when it is free, the caller goes on with the conclusion.
func (cl *caller) conclude(r *memory.Receive, err error, number uint64,
	fetched []transport.Slice) conclusion {
	l, h := cl.l, &r.Header
	k := cl.pending.get(h.XID)
	if k == nil || k.fetch != nil { // no such call, or its reply has come before
		l.cfg.Logger.Debug("rpcrdma: reply matches no call",
			"peer", l.info.RemoteAddr, "xid", h.XID, "type", h.Type)
		atomic.AddUint64(&l.stats.UnknownXID, 1)
		l.receives.Repost(r)
		return conclusion{}
	}
	k.recv = r
	if len(h.Reads) > 0 && l.isDraft() {
		k.fetch = newReplyFetch(cl, k, fetched)
	}
	// The call stays in the table until the chunks of its reply are here. The caller may cancel it
	// meanwhile, so use its buffers for the check now.
	if err == nil && !k.abandoned {
		err = k.checkReply(h)
	}
	// the read list may have no bytes
	fetching := k.fetch != nil && err == nil && len(k.lists.Reads) > 0
	if !fetching {
		cl.remove(k)
	}
	// Grants count in order of arrival, so the lock must be held.
	last := number > cl.granted
	cl.granted = max(cl.granted, number)
	switch {
	case k.fetch != nil && last:
		cl.window.NoteGrant(k.credit, h.Credits)
	case k.fetch != nil:
	case last:
		cl.window.Release(k.credit, h.Credits)
	default:
		cl.window.ReleaseOverridden(k.credit)
	}
	return conclusion{k, fetching, err}
}

// goOn goes on with the call.
func (c conclusion) goOn() {
	switch {
	case c.k == nil:
	case c.fetching:
		c.k.fetch.run()
	default:
		c.k.end(c.err)
	}
}

// checkReply checks a reply with header h, and notes what came in the chunks that its call offered.
func (k *call) checkReply(h *wire.Header) error {
	m, lists, most := &k.recv.Message, &k.lists, k.l.cfg.MaxMessage
	err := wire.Check(wire.Reply, h, &wire.Limits{
		Draft: k.l.isDraft(), Bytes: most, Inline: m.Len(), Offered: &k.header.Lists,
	}, lists)
	if err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.ReplyTooLongError{Max: most}, err)
		}
		return err
	}
	for i := range lists.Reads {
		k.info.ReplyRead += lists.Reads[i].Len
	}
	switch {
	case lists.ReplyLen > 0:
		m.Body = k.windows.at(k.reply).owned.Bytes[:lists.ReplyLen]
		k.info.ReplyChunk = lists.ReplyLen
		if err := checkReplyMessage(m.Body, h.XID); err != nil {
			return err
		}
	case !lists.Long:
		k.info.InlineReceived = m.Len()
	}
	for i, n := range lists.Written {
		data := k.x.Results[i][:min(n, len(k.x.Results[i]))]
		k.info.WriteChunk += n
		k.written = append(k.written, xdr.Chunk{Position: xdr.Floating, Len: n, Data: data})
	}
	return nil
}

// checkReplyMessage checks that a message from a chunk is the reply to the call with that XID.
func checkReplyMessage(b []byte, xid uint32) error {
	if len(b) < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) != oncrpc.MsgReply {
		return fmt.Errorf("%w: no reply in the chunk", wire.ErrMalformed)
	}
	if binary.BigEndian.Uint32(b) != xid {
		return wire.ErrXID
	}
	return nil
}

// end ends a call that has left the table, with its reply or with an error.
func (k *call) end(err error) {
	l := k.l
	switch {
	case errors.Is(err, wire.ErrVersion):
		l.fault(&l.stats.BadVersion, "reply of another version", k.xid, err)
	case errors.Is(err, wire.ErrMalformed):
		l.fault(&l.stats.Malformed, "reply malformed", k.xid, err)
	}
	if k.fetch != nil {
		k.fetch.sendDone()
	}
	if err != nil {
		err = answered{err}
	}
	k.deliver(err)
}

// deliver gives a call that has left the table its result, and wakes its caller. If that has gone,
// deliver ends the windows of the call.
func (k *call) deliver(err error) {
	if k.abandoned {
		k.late = err == nil
		k.endWindows()
		return
	}
	if k.result = err; k.turn.Swap(true) {
		k.done <- err
	}
	k.unref()
}
