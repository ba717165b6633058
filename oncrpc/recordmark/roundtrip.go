package recordmark

import (
	"cmp"
	"context"
	"encoding/binary"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// call is a call of this end. It ends with a reply or an error, and then once done
// has a token, but not while the writer holds its message.
type call struct {
	out   outgoing
	xid   uint32
	reply *record
	err   error
	gone  bool // cancelled: only the writer still has it
	done  chan struct{}
}

// RoundTrip makes a call and waits for its reply, or for ctx. When ctx ends, a call that
// is still queued is taken back; one that has left is forgotten, and its reply
// dropped when it comes; one that is leaving is waited for, at most Config.CancelGrace.
// The connection stays usable, unless that grace did not suffice.
//
// Its error is an *OpError, or says why the connection has ended. It wraps the context's, a
// *oncrpc.CallTooLongError, or, with Config.EnforceMaxReply, a *oncrpc.ReplyTooLongError.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if err := c.fits(x); err != nil { // before it waits for its turn
		return err
	}
	if err := ctx.Err(); err != nil {
		return c.opError("call", err)
	}
	if err := c.slot(ctx); err != nil {
		return c.opError("call", err)
	}
	defer func() { <-c.slots }()

	p, err := c.call(x)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		err = p.err
	case <-ctx.Done():
		c.giveUp(p)
		if p.reply == nil {
			c.counters.cancelled.Add(1)
			err = c.opError("call", ctx.Err())
		}
	}
	if p.reply != nil {
		if err = c.fitsReply(x, len(p.reply.data)); err == nil {
			x.SetReply(p.reply.data, nil, p.reply)
		} else {
			p.reply.Release()
		}
	}
	c.recycle(p)
	return err
}

// slot waits until the call is one of MaxCalls.
func (c *Conn) slot(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conn) opError(op string, err error) error { return &OpError{op, c.RemoteAddr(), err} }

// fits reports whether a call may be sent, as far as it is made.
func (c *Conn) fits(x *oncrpc.Exchange) error {
	if n := x.Call.Len(); n > c.cfg.MaxRecord {
		return c.opError("call", &oncrpc.CallTooLongError{Len: n, Max: c.cfg.MaxRecord})
	}
	if n := xdr.RoundUp(x.MaxReply); c.cfg.EnforceMaxReply && n > c.cfg.MaxRecord {
		err := &oncrpc.ReplyTooLongError{Len: n, Max: c.cfg.MaxRecord, NotSent: true}
		return c.opError("call", err)
	}
	return nil
}

// longestError is the length in bytes of a PROG_MISMATCH with the empty verifier of AUTH_NONE and
// AUTH_SYS, the longest reply without results (RFC 5531 section 9). Calls make no room for that.
const longestError = 3*4 + 8 + 4 + 2*4

// fitsReply reports whether the caller gets a reply of n bytes.
func (c *Conn) fitsReply(x *oncrpc.Exchange, n int) error {
	if most := x.ReplyLimit(); c.cfg.EnforceMaxReply && n > max(most, longestError) {
		return c.opError("call", &oncrpc.ReplyTooLongError{Len: n, Max: most})
	}
	return nil
}

// call makes the message of a call and queues it.
func (c *Conn) call(x *oncrpc.Exchange) (*call, error) {
	c.start()
	for {
		xid := x.XID
		for xid == 0 {
			xid = c.xid.Add(1)
		}
		if err := x.Seal(xid); err != nil {
			return nil, c.opError("call", err)
		}
		if err := c.fits(x); err != nil {
			return nil, err
		}
		p, err := c.enter(x, xid)
		if err == nil || err != oncrpc.ErrXIDInUse {
			return p, err
		}
		if x.XID != 0 {
			return nil, c.opError("call", err)
		}
		// By a call that chose it, or that began four billion calls ago.
	}
}

// enter queues a call whose message is made.
func (c *Conn) enter(x *oncrpc.Exchange, xid uint32) (*call, error) {
	n := x.Call.Len()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmp.Or(c.err, c.writeErr); err != nil {
		return nil, err
	}
	if _, ok := c.pending[xid]; ok {
		return nil, oncrpc.ErrXIDInUse
	}
	var p *call
	if n := len(c.free); n > 0 {
		p, c.free = c.free[n-1], c.free[:n-1]
	} else {
		p = &call{done: make(chan struct{}, 1)}
		p.out.call = p
	}
	p.xid = xid
	p.out.msg, p.out.len = &x.Call, n
	c.pending[p.xid] = p
	c.queue.push(&p.out)
	c.filled.Signal()
	c.room.Signal()
	c.counters.calls.Add(1)
	return p, nil
}

// giveUp ends a call whose context has ended. On return nobody else has it, and either
// it has a reply or it never will.
func (c *Conn) giveUp(p *call) {
	c.mu.Lock()
	switch p.out.state {
	case queued:
		c.queue.remove(&p.out)
	case writing:
		p.gone = true
	}
	waiting := p.gone || p.reply != nil || p.err != nil // for done
	if c.pending[p.xid] == p {
		delete(c.pending, p.xid)
	}
	c.mu.Unlock()
	if !waiting {
		return
	}
	grace := time.NewTimer(c.cfg.CancelGrace)
	defer grace.Stop()
	select {
	case <-p.done:
	case <-grace.C:
		c.fail("call", ErrStalled)
		<-p.done
	}
}

// recycle takes back a call that has ended.
func (c *Conn) recycle(p *call) {
	c.mu.Lock()
	*p = call{out: outgoing{call: p}, done: p.done}
	c.free = append(c.free, p)
	c.mu.Unlock()
}

// deliver ends a call with its reply. A reply to a call that has not left is none.
func (c *Conn) deliver(rec *record) {
	xid := binary.BigEndian.Uint32(rec.data)
	c.mu.Lock()
	p := c.pending[xid]
	if p == nil || p.out.state == queued {
		c.mu.Unlock()
		c.counters.stray.Add(1)
		rec.Release()
		return
	}
	delete(c.pending, xid)
	p.reply = rec
	if p.out.state != writing {
		p.done <- struct{}{}
	}
	c.mu.Unlock()
}
