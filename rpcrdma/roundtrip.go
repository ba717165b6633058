package rpcrdma

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// RoundTrip makes a call: oncrpc.Transport. Its error is an *OpError that wraps the context's when
// that has ended, a *oncrpc.CallTooLongError, a *oncrpc.ReplyTooLongError, a *PeerError, or
// ErrMalformed; an error that wraps net.ErrClosed says that the connection has ended.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	k := getCall(c, x)
	err := c.roundTrip(ctx, k)
	if err != nil {
		err = &OpError{"call", c.info.RemoteAddr, err}
	}
	if c.cfg.Observer != nil {
		k.info.Err = err
		c.cfg.Observer.CallDone(&k.info)
	}
	if err != nil {
		k.unref()
		return err
	}
	x.SetReply(k.message.body, k.written, k)
	k.message.decode(&x.Reply)
	return nil
}

func (c *Conn) roundTrip(ctx context.Context, k *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x := k.x
	x.MaxReply = xdr.RoundUp(x.MaxReply)
	if err := k.layPlan(c.settings.Load()); err != nil { // of what is made of the call as yet
		return err
	}
	var err error
	if k.credit, err = c.window.Acquire(ctx); err != nil {
		return err
	}
	k.info.Credits = k.credit.InUse
	if err := c.transmit(k); err != nil {
		c.window.Cancel()
		return c.ended(ctx, err)
	}
	if done := ctx.Done(); k.turn.Swap(true) {
		err = k.result
	} else if done == nil {
		err = <-k.done
	} else {
		select {
		case err = <-k.done:
		case <-done:
			c.abandon(k)
			return ctx.Err()
		}
	}
	c.revokeWindowsOf(k)
	if err != nil {
		return k.replyTooLong(err)
	}
	for i, j := range k.results {
		// Only as much as was written: what lies behind it is not the result's.
		if w := k.window(j); w != nil && w.result != nil && i < len(k.written) && k.written[i].Position == xdr.Floating {
			copy(w.result, w.owned.Bytes[:len(k.written[i].Data)])
		}
	}
	return nil
}

// replyTooLong adds a *oncrpc.ReplyTooLongError to the ERR_CHUNK that can mean nothing else: this
// end has made the header, and there is neither a chunk for the peer to read nor padding.
func (k *call) replyTooLong(err error) error {
	peer, ok := err.(*PeerError) //nolint:errorlint // it comes from received, as it is
	if !ok || peer.Code != ErrChunk || k.header.Type != TypeMsg || len(k.header.Reads) > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", &oncrpc.ReplyTooLongError{Max: k.x.ReplyLimit()}, err)
}

// ended returns why the connection has ended, if err comes of that: who posts may notice the end before the reason is known.
func (c *Conn) ended(ctx context.Context, err error) error {
	if !errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return err
	}
}

// layPlan plans the call for the settings in force.
func (k *call) layPlan(s *Settings) (err error) {
	x, most := k.x, k.c.cfg.MaxMessage
	k.settings, k.planned = s, x.Call.Len()
	if k.planned > most {
		return &oncrpc.CallTooLongError{Len: k.planned, Max: most}
	}
	if x.MaxReply > most {
		return &oncrpc.ReplyTooLongError{Len: x.MaxReply, Max: most, NotSent: true}
	}
	k.plan, err = chunks.PlanCall(&k.x.Call, k.x.Results, k.x.MaxReply, k.c.limits(s, s.MaxSend))
	return err
}

func (k *call) window(i int) *window {
	if i == noWindow {
		return nil
	}
	return &k.windows[i]
}

// transmit chooses a transaction id, has the message of the call made with it, and sends that. If it
// fails, nothing refers to the call, and its memory cannot be reached.
func (c *Conn) transmit(k *call) error {
	x := k.x
	for {
		k.xid = x.XID
		for k.xid == 0 {
			k.xid = c.xid.Add(1)
		}
		if err := x.Seal(k.xid); err != nil {
			return err
		}
		k.describe()
		// A flavour may have made the call but now, and the ends may have agreed on something else
		// while it waited.
		if s := c.settings.Load(); s != k.settings || x.Call.Len() != k.planned {
			if err := k.layPlan(s); err != nil {
				return err
			}
		}
		err := c.send(k)
		if err == nil {
			return nil
		}
		c.revokeWindowsOf(k)
		if x.XID != 0 || err != oncrpc.ErrXIDInUse {
			return err
		}
		// By a call that chose it, or that began four billion calls ago.
		k.forgetLayout()
	}
}

// send lays the call out, enters it in the table, posts a receive for its reply and its Send. If
// it fails, nothing refers to the call.
func (c *Conn) send(k *call) error {
	err := k.layout()
	if errors.Is(err, chunks.ErrHeader) || errors.Is(err, transport.ErrNoMemory) {
		// Once more, with as few windows as there can be.
		c.revokeWindowsOf(k)
		k.forgetLayout()
		k.copies = true
		err = k.layout()
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	if c.pending[k.xid] != nil {
		c.mu.Unlock()
		return oncrpc.ErrXIDInUse
	}
	if _, err := c.supply.post(1); err != nil {
		c.mu.Unlock()
		return fmt.Errorf("no receive for the reply: %w", err)
	}
	k.refs.Add(2) // the table's and the Send's
	c.pending[k.xid] = k
	c.supply.secure()
	c.mu.Unlock()

	c.stats.callsSent.Add(1)
	if err := c.queue.post(k.sendArgs[:]); err != nil {
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		// The end of the connection delivers the error.
	}
	return nil
}

// abandon gives a call up whose reply has not come. On return the caller's memory is no
// longer touched: the peer may still write to it, and finds a sink; it may still
// read from it, and finds a copy. The credit and the receive stay the call's until its reply comes.
//
// Where that is not to be had, the peer gets CancelGrace for the reply; then the connection is closed.
func (c *Conn) abandon(k *call) {
	c.stats.cancelled.Add(1)
	if !k.cutLoose() {
		t := time.NewTimer(c.cfg.CancelGrace)
		defer t.Stop()
		select {
		case <-k.done:
		case <-t.C:
			c.fail(fmt.Errorf("call cancelled and not answered within %v", c.cfg.CancelGrace))
			<-k.done
		}
		c.revokeWindowsOf(k)
		return
	}
	c.mu.Lock()
	waits := c.pending[k.xid] == k
	if waits {
		k.abandoned = true
	}
	c.mu.Unlock()
	if !waits { // it ended meanwhile
		<-k.done
		c.revokeWindowsOf(k)
	}
}

// cutLoose abandons the windows over the caller's memory, and reports whether all are.
func (k *call) cutLoose() bool {
	for i := range k.windows {
		w := &k.windows[i]
		if w.owned.Bytes != nil {
			continue // the pool's, which stays until the reply comes
		}
		for _, r := range k.regions[w.region:][:w.regions] {
			if a := k.c.abandoner; a == nil || a.Abandon(r) != nil {
				return false
			}
		}
	}
	return true
}

// revokeWindowsOf ends the windows of a call: afterwards the peer cannot reach its memory. It is
// called in RoundTrip alone, as it may block.
func (c *Conn) revokeWindowsOf(k *call) {
	if err := k.revokeWindows(); err != nil {
		c.fail(err)
		<-c.ep.Done()
	}
	k.releaseWindows()
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
