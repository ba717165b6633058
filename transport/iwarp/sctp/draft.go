package sctp

import (
	"encoding/binary"
	"io"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// This file holds what draft-stewart-rddp-sctp-01 does differently from RFC 5043: no sessions and
// no DDP-SSN, but DDP Stream Reset (section 7.2) and the order of the association's TSNs (section
// 6.1).

// tsnOrder delivers messages in the order of an association: a message may complete when all before
// it, by TSN, have come. It belongs to the goroutine that receives.
type tsnOrder struct {
	next  uint32 // the cumulative TSN plus one
	early map[uint32]tsnMessage
}

// tsnMessage is a message that came before an earlier one.
type tsnMessage struct {
	conn    *Conn
	message *held  // nil: nobody wants it
	last    uint32 // its last TSN
}

func newTSNOrder(first uint32) *tsnOrder {
	return &tsnOrder{next: first, early: make(map[uint32]tsnMessage)}
}

// take takes a message for a session, which may be nil, and delivers what is now in order.
func (o *tsnOrder) take(c *Conn, m *lower.Message) {
	t := tsnMessage{conn: c, last: m.Last}
	if c != nil {
		t.message = c.takeDraft(m, m.First != o.next)
	}
	if m.First != o.next {
		o.early[m.First] = t
		return
	}
	for early := false; ; early = true {
		if t.message != nil {
			t.conn.deliverDraft(t.message, early)
		}
		o.next = t.last + 1
		var ok bool
		if t, ok = o.early[o.next]; !ok {
			return
		}
		delete(o.early, o.next)
	}
}

// end drops the messages that will never be in order.
func (o *tsnOrder) end() {
	for _, t := range o.early {
		if t.message != nil {
			t.conn.forgetDraft(t.message)
		}
	}
	clear(o.early)
}

// forgetDraft drops an early message.
func (c *Conn) forgetDraft(h *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead -= h.size()
	c.a.giveBack(h.size())
}

// takeDraft takes a message, and returns it in the form to deliver.
func (c *Conn) takeDraft(m *lower.Message, early bool) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	reset := len(m.Data) == resetLen && binary.BigEndian.Uint32(m.Data) == draftReset
	if c.deaf && !reset { // Reset makes the stream usable again
		return nil
	}
	var err error
	switch {
	case !m.Unordered:
		err = violation("an ordered message")
	case m.PPID != ppidDraftSegment && !(m.PPID == ppidDraftControl && reset):
		err = violation("payload protocol identifier %d with %d bytes", m.PPID, len(m.Data))
	}
	var h *held
	if err == nil {
		h, err = c.keep(m, reset, m.Data, early)
	}
	if err != nil {
		c.violated(err)
		c.changed.Broadcast()
		return nil
	}
	c.changed.Broadcast()
	return h
}

// deliverDraft delivers a message to the consumer of its stream.
func (c *Conn) deliverDraft(h *held, early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	if early {
		c.catchUp(h)
	}
	switch {
	case h.control: // the next message belongs to another session
		c.drop(h)
		c.last = true
		if c.over {
			c.a.release(c)
		}
	case c.deaf || c.last:
		c.drop(h)
	default:
		c.deliver(h)
	}
}

// beginDraft begins a session after the peer has used the stream.
func (c *Conn) beginDraft() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = asked
	c.setup = append(c.setup, control{function: initiate})
	c.offer()
}

// writeDraftFrame makes the session open; c.mu is held.
func (c *Conn) writeDraftFrame(f *mpa.Frame) error {
	c.state = open
	atomic.AddUint64(&c.a.cfg.Counters.stats.Sessions, 1)
	if !f.Reply {
		c.setup = append(c.setup, control{function: accept})
	}
	if f.Reject {
		c.err = io.EOF
	}
	return nil
}

// sendReset lets the peer use the stream for another session; c.mu is held. Nothing may follow
// until the peer has acknowledged it.
func (c *Conn) sendReset() error {
	return c.send(ppidDraftSegment, binary.BigEndian.AppendUint32(make([]byte, room), draftReset))
}
