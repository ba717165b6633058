package recordmark

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// caller makes the calls of this end.
type caller struct {
	conn    *Conn
	slots   chan struct{} // one token for each pending call
	waiting atomic.Int64  // calls that have no slot yet
	xid     atomic.Uint32 // last transaction id that we chose

	// Conn.mu guards the fields below.
	pending map[uint32]*call // calls that await their reply, by transaction id
	givenUp int              // calls that have left and were given up, and have no reply yet
	free    []*call
}

// open initializes a caller without calls.
func (cl *caller) open(c *Conn) {
	cl.conn, cl.pending = c, make(map[uint32]*call)
	cl.slots = make(chan struct{}, c.cfg.MaxCalls)
	cl.xid.Store(rand.Uint32())
}

// credits implements Conn.Credits.
func (cl *caller) credits() (grant, inUse, waiting int) {
	return cap(cl.slots), len(cl.slots), int(cl.waiting.Load())
}

// call is a call of this end. It ends with a reply or an error. Then done gets a token, unless the
// sender holds the message: in that case the token comes when the sender is finished.
type call struct {
	out   outgoing
	xid   uint32
	reply *record
	err   error
	gone  bool // cancelled: only the sender still has it
	done  chan struct{}
}

// RoundTrip makes a call and waits for its reply, or for ctx. When ctx ends:
//
//   - a call that is still queued is removed from the queue;
//   - a call that has left is forgotten, and its reply dropped when it arrives;
//   - RoundTrip waits for a call that is partly sent, at most Config.CancelGrace. If the rest does
//     not leave by then, the connection is closed. Otherwise it stays usable.
//
// The error is an *OpError, or says why the connection has ended. It wraps the error of ctx, a
// *oncrpc.CallTooLongError, or, with Config.EnforceMaxReply, a *oncrpc.ReplyTooLongError.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	return c.caller.roundTrip(ctx, x)
}

func (cl *caller) roundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	c := cl.conn
	if err := cl.fits(x); err != nil { // before it waits for its turn
		return err
	}
	if err := ctx.Err(); err != nil {
		return c.notSent(err)
	}
	if err := cl.slot(ctx); err != nil {
		return c.notSent(err)
	}
	defer func() { <-cl.slots }()

	p, err := cl.call(x)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		err = p.err
	case <-ctx.Done():
		left := cl.giveUp(p)
		if p.reply == nil {
			atomic.AddUint64(&c.counters.stats.Cancelled, 1)
			if err = c.opError("call", ctx.Err()); !left {
				err = c.notSent(ctx.Err())
			}
		}
	}
	if p.reply != nil {
		if err = cl.fitsReply(x, len(p.reply.data)); err == nil {
			x.SetReply(p.reply.data, nil, p.reply)
		} else {
			p.reply.Release()
		}
	}
	cl.recycle(p)
	return err
}

// slot waits until fewer than MaxCalls calls are pending.
func (cl *caller) slot(ctx context.Context) error {
	select {
	case cl.slots <- struct{}{}:
		return nil
	default:
	}
	cl.waiting.Add(1)
	defer cl.waiting.Add(-1)
	select {
	case cl.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fits returns an error if a call, as far as it is encoded, must not be sent.
func (cl *caller) fits(x *oncrpc.Exchange) error {
	c := cl.conn
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
// AUTH_SYS, the longest reply without results (RFC 5531 section 9). Calls ask for no room for it.
const longestError = 3*4 + 8 + 4 + 2*4

// fitsReply returns an error if a reply of n bytes is longer than its room.
func (cl *caller) fitsReply(x *oncrpc.Exchange, n int) error {
	c := cl.conn
	if most := x.ReplyLimit(); c.cfg.EnforceMaxReply && n > max(most, longestError) {
		return c.opError("call", &oncrpc.ReplyTooLongError{Len: n, Max: most})
	}
	return nil
}

// call makes the message of a call and queues it.
func (cl *caller) call(x *oncrpc.Exchange) (*call, error) {
	c := cl.conn
	c.start()
	for {
		xid := x.XID
		for xid == 0 {
			xid = cl.xid.Add(1)
		}
		if err := x.Seal(xid); err != nil {
			return nil, c.opError("call", err)
		}
		if err := cl.fits(x); err != nil {
			return nil, err
		}
		p, err := cl.enter(x, xid)
		if err == nil || err != oncrpc.ErrXIDInUse {
			return p, err
		}
		if x.XID != 0 {
			return nil, c.opError("call", err)
		}
		// The XID is in use by a call that chose it, or that began four billion calls ago.
	}
}

// enter queues a call whose message is encoded.
func (cl *caller) enter(x *oncrpc.Exchange, xid uint32) (*call, error) {
	c := cl.conn
	n := x.Call.Len()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmp.Or(c.err, c.sender.err); err != nil {
		return nil, c.notSent(err)
	}
	if _, ok := cl.pending[xid]; ok {
		return nil, oncrpc.ErrXIDInUse
	}
	var p *call
	if n := len(cl.free); n > 0 {
		p, cl.free = cl.free[n-1], cl.free[:n-1]
	} else {
		p = &call{done: make(chan struct{}, 1)}
		p.out.call = p
	}
	p.xid = xid
	p.out.msg, p.out.len = &x.Call, n
	cl.pending[p.xid] = p
	c.sender.queue.push(&p.out)
	c.sender.filled.Signal()
	c.receiver.room.Signal()
	atomic.AddUint64(&c.counters.stats.Calls, 1)
	return p, nil
}

// giveUp ends a call whose context has ended. When it returns, no other goroutine uses the call. It
// either has a reply by then or will never get one. left reports whether some of the call may have
// left.
func (cl *caller) giveUp(p *call) (left bool) {
	c := cl.conn
	c.mu.Lock()
	left = true
	switch p.out.state {
	case queued:
		c.sender.queue.remove(&p.out)
		left = false
	case writing:
		p.gone = true
	}
	waiting := p.gone || p.reply != nil || p.err != nil // for done
	if cl.pending[p.xid] == p {
		delete(cl.pending, p.xid)
		if left {
			cl.givenUp++
		}
	}
	c.mu.Unlock()
	if !waiting {
		return left
	}
	grace := time.NewTimer(c.cfg.CancelGrace)
	defer grace.Stop()
	select {
	case <-p.done:
	case <-grace.C:
		c.fail("call", ErrStalled)
		<-p.done
	}
	return left
}

// recycle takes back the memory of a call that has ended.
func (cl *caller) recycle(p *call) {
	cl.conn.mu.Lock()
	*p = call{out: outgoing{call: p}, done: p.done}
	cl.free = append(cl.free, p)
	cl.conn.mu.Unlock()
}

// deliver ends a call with its reply. A reply to a call that is still queued is dropped.
func (cl *caller) deliver(rec *record) {
	c := cl.conn
	xid := binary.BigEndian.Uint32(rec.data)
	c.mu.Lock()
	p := cl.pending[xid]
	if p == nil || p.out.state == queued {
		cl.givenUp = max(0, cl.givenUp-1)
		c.mu.Unlock()
		atomic.AddUint64(&c.counters.stats.StrayReplies, 1)
		rec.Release()
		return
	}
	delete(cl.pending, xid)
	p.reply = rec
	if p.out.state != writing {
		p.done <- struct{}{}
	}
	c.mu.Unlock()
}

// fail ends all pending calls with err, the reason why the connection ends; Conn.mu is held.
func (cl *caller) fail(err error) {
	unsent := cl.conn.notSent(err)
	for xid, p := range cl.pending {
		delete(cl.pending, xid)
		if p.err = err; p.out.state == queued {
			p.err = unsent
		}
		if p.out.state != writing {
			p.out.state = idle
			p.done <- struct{}{}
		}
	}
}

// failQueued ends the calls that have not left with err; Conn.mu is held. The caller must then
// discard the queue.
func (cl *caller) failQueued(err error) {
	err = cl.conn.notSent(err)
	for o := cl.conn.sender.queue.First(); o != nil; o = o.place.Next() {
		if p := o.call; p != nil {
			delete(cl.pending, p.xid)
			p.err = err
			p.done <- struct{}{}
		}
	}
}
