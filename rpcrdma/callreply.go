package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// received takes the reply to a call of this side, or the error in it.
func (cl *caller) received(r *receive, err error) {
	c := cl.conn
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.flow.arrived(r)
	cl.heard++
	cl.conclude(r, err, cl.heard, nil)
}

// conclude ends the call that a reply belongs to, or begins to fetch the chunks of the reply.
// number is its place among the replies that have come. args is set if it is a long message that
// was first taken for a call, and has been fetched. Conn.mu is held, and is unlocked on return.
func (cl *caller) conclude(r *receive, err error, number uint64, args *arguments) {
	c, h := cl.conn, &r.header
	k := cl.pending.get(h.XID)
	if k == nil || k.fetch != nil { // no such call, or its reply has come before
		cl.unexpected(r)
		return
	}
	k.recv = r
	if len(h.Reads) > 0 {
		if d := c.draft; d != nil {
			k.fetch = d.readReply(k, args)
		} else if err == nil {
			err = ErrReplyReadList
		}
	}
	// The call stays in the table until the chunks of its reply are here. The caller may cancel it
	// meanwhile, so use its buffers for the check now.
	if err == nil && !k.abandoned {
		err = k.checkReply(h)
	}
	// the read list may have no bytes
	fetching := k.fetch != nil && err == nil && len(k.fetch.reads) > 0
	if !fetching {
		cl.pending.remove(k)
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
	c.mu.Unlock()

	if fetching {
		k.fetch.run()
	} else {
		k.end(err)
	}
}

// unexpected drops a reply that matches no call. Conn.mu is held, and is unlocked on return.
func (cl *caller) unexpected(r *receive) {
	c, h := cl.conn, &r.header
	c.cfg.Logger.Debug("rpcrdma: reply matches no call",
		"peer", c.info.RemoteAddr, "xid", h.XID, "type", h.Type)
	c.flow.repost(r)
	c.mu.Unlock()
	c.stats.unknownXID.Add(1)
}

// checkReply checks a reply with header h against the chunks that its call offered.
func (k *call) checkReply(h *Header) error {
	m := &k.recv.message
	inline := len(m.body) + len(m.more)
	if k.fetch != nil {
		if err := k.fetch.check(h, inline); err != nil {
			return err
		}
	}
	if h.Type == TypeNoMsg && (k.fetch == nil || !k.fetch.long) {
		w := k.windows.at(k.reply)
		if w == nil {
			return fmt.Errorf("%w: reply chunk that was not offered", ErrMalformed)
		}
		n, err := chunks.WrittenLen(k.header.Reply, h.Reply, false)
		if err != nil {
			return err
		}
		m.body = w.owned.Bytes[:n]
		k.info.ReplyChunk = n
		if err := checkReplyMessage(m.body, h.XID); err != nil {
			return err
		}
	} else {
		k.info.InlineReceived = inline
	}
	if len(h.Writes) == 0 {
		return nil
	}
	return k.checkWrites(h)
}

// checkReplyMessage checks that a message from a chunk is the reply to the call with that XID.
func checkReplyMessage(b []byte, xid uint32) error {
	if len(b) < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) != oncrpc.MsgReply {
		return fmt.Errorf("%w: no reply in the chunk", ErrMalformed)
	}
	if binary.BigEndian.Uint32(b) != xid {
		return ErrXID
	}
	return nil
}

// checkWrites checks the write list of a reply, and notes what was written.
func (k *call) checkWrites(h *Header) error {
	if n, offered := len(h.Writes), len(k.header.Writes); n != offered {
		return fmt.Errorf("%w: %d write chunks returned of %d", ErrMalformed, n, offered)
	}
	for i, returned := range h.Writes {
		n, err := chunks.WrittenLen(k.header.Writes[i], returned, k.c.draft != nil)
		if err != nil {
			if _, other := chunks.WrittenLen(k.header.Writes[i], returned, true); other == nil {
				err = fmt.Errorf("%w: %w", err, ErrRoundUp)
			}
			return err
		}
		data := k.x.Results[i][:min(n, len(k.x.Results[i]))]
		k.info.WriteChunk += n
		k.written = append(k.written, xdr.Chunk{Position: xdr.Floating, Len: n, Data: data})
	}
	return nil
}

// end ends a call that has left the table, with its reply or with an error.
func (k *call) end(err error) {
	c := k.c
	switch {
	case err == nil:
	case errors.Is(err, ErrVersion):
		c.fault(&c.stats.badVersion, "reply of another version", k.xid, err)
	case errors.Is(err, chunks.ErrMalformed) && !errors.Is(err, ErrMalformed):
		err = fmt.Errorf("%w: %w", ErrMalformed, err)
		fallthrough
	case errors.Is(err, ErrMalformed):
		c.fault(&c.stats.malformed, "reply malformed", k.xid, err)
	}
	if k.fetch != nil {
		k.fetch.sendDone()
	}
	if err != nil {
		err = answered{err}
	}
	k.deliver(err)
}

// deliver gives a call that has left the table its result, and wakes its caller.
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
