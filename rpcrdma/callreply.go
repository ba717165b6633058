package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// received takes the reply to a call of ours, with its message when that is inline, or with what is
// wrong with it.
func (cl *caller) received(r *receive, m message, err error) {
	c := cl.conn
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.supply.arrived(r)
	cl.heard++
	cl.conclude(r, &c.receiver.header, m, err, cl.heard)
}

// conclude is received for a receive that is off the list, and the number of what it took; Conn.mu
// is held, and unlocked.
func (cl *caller) conclude(r *receive, h *Header, m message, err error, number uint64) {
	c := cl.conn
	k := cl.pending[h.XID]
	if k == nil || k.fetching {
		c.supply.repost(r)
		c.mu.Unlock()
		c.stats.unknownXID.Add(1)
		c.cfg.Logger.Debug("rpcrdma: reply to no call", "peer", c.info.RemoteAddr, "xid", h.XID, "type", h.Type)
		return
	}
	reads := len(h.Reads) > 0
	if reads && !c.rules.replyReads && err == nil {
		err = ErrReplyReadList
	}
	k.recv = r
	k.owes = reads && c.rules.replyReads
	// Until its chunks are here, a reply has its call under way, with its transaction id. The
	// caller may give up as long, so what is his is looked at now.
	if err == nil && !k.abandoned {
		err = k.checkReply(h, m)
		k.fetching = err == nil && len(k.reads) > 0 // there may be no bytes in them
	}
	fetching := k.fetching
	if !fetching {
		delete(cl.pending, h.XID)
	}
	// Grants count in the order in which they arrived, and so under the lock.
	last := number > cl.granted
	cl.granted = max(cl.granted, number)
	switch {
	case k.owes && last:
		cl.window.NoteGrant(k.credit, h.Credits)
	case k.owes:
	case last:
		cl.window.Release(k.credit, h.Credits)
	default:
		cl.window.ReleaseUnsent()
	}
	c.mu.Unlock()

	if fetching {
		cl.fetchReply(k)
	} else {
		k.end(err)
	}
}

// checkReply checks the reply to a call against what was offered: m is its message when
// that is inline.
func (k *call) checkReply(h *Header, m message) error {
	if k.owes {
		inline := len(m.body) + len(m.more)
		if h.Type == TypeNoMsg { // the message is in the reply chunk, if it is in no read chunk
			inline = int(min(h.Reply.Len(), uint64(k.c.cfg.MaxMessage)))
		}
		if err := k.checkReads(h, inline); err != nil {
			return err
		}
		if k.long && (h.Type != TypeNoMsg || h.Reply.Len() > 0) {
			return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
		}
		for i := range k.reads {
			k.info.ReplyRead += k.reads[i].Len
		}
	}
	if h.Type == TypeNoMsg && !k.long {
		w := k.window(k.reply)
		if w == nil {
			return fmt.Errorf("%w: reply chunk that was not offered", ErrMalformed)
		}
		n, err := chunks.WrittenLen(k.header.Reply, h.Reply, false)
		if err != nil {
			return err
		}
		m.body = w.owned.Bytes[:n]
		k.info.ReplyChunk = n
		if n < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(m.body[4:])) != oncrpc.MsgReply {
			return fmt.Errorf("%w: no reply in the reply chunk", ErrMalformed)
		}
		if binary.BigEndian.Uint32(m.body) != h.XID {
			return ErrXID
		}
	} else {
		k.info.InlineReceived = len(m.body) + len(m.more)
	}
	k.message = m
	return k.checkWrites(h)
}

// checkWrites checks the write list of the reply, and notes what was written.
func (k *call) checkWrites(h *Header) error {
	if len(h.Writes) > len(k.header.Writes) || (len(h.Writes) > 0 && len(h.Writes) < len(k.header.Writes)) {
		return fmt.Errorf("%w: %d write chunks returned of %d", ErrMalformed, len(h.Writes), len(k.header.Writes))
	}
	for i, returned := range h.Writes {
		n, err := chunks.WrittenLen(k.header.Writes[i], returned, k.c.rules.roundUp)
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

// end ends a call that is off the table, with its reply in place or with an error.
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
	if k.owes {
		k.sendDone()
	}
	k.deliver(err)
}

// deliver ends a call that has been taken off the table, with its reply in place or with an error.
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
