package recordmark

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// responder answers the calls of the peer.
type responder struct {
	conn   *Conn
	server atomic.Pointer[oncrpc.Dispatcher]

	// Conn.mu guards the fields below.
	remove   func()    // unregisters the connection from its server
	unserved int       // calls of the peer that are not answered yet
	replies  replyRoom // the memory for their replies
	current  *incoming // the call being dispatched; its reply need not wake the sender
}

// incoming is a call of the peer, as an oncrpc.IncomingCall.
type incoming struct {
	conn  *Conn
	rec   *record
	args  xdr.Decoder
	reply xdr.Message
	large int // bytes that count in replyRoom
	out   outgoing
}

var incomings = sync.Pool{New: func() any { return new(incoming) }}

// nobody answers calls on connections that no server serves.
var nobody = oncrpc.DispatcherOf(new(oncrpc.Server))

// Serve answers the peer's calls with s until the connection or s ends. It returns at once. Without
// Serve, calls of the peer are answered PROG_UNAVAIL.
func (c *Conn) Serve(s *oncrpc.Server) {
	d := oncrpc.DispatcherOf(s).For(c.RemoteAddr())
	if state, ok := c.TLS(); ok {
		d = d.As(principal(state))
	}
	remove, err := d.AddConn(c, c.drain)
	if err != nil {
		c.fail("serve", err)
		return
	}
	c.responder.leave(remove)
	context.AfterFunc(c.ctx, func() { c.responder.leave(nil) })
	c.responder.server.Store(&d)
	c.start()
}

// leave unregisters the connection from its server. next unregisters it from the next server.
func (rp *responder) leave(next func()) {
	rp.conn.mu.Lock()
	remove := rp.remove
	rp.remove = next
	rp.conn.mu.Unlock()
	if remove != nil {
		remove()
	}
}

// dispatch passes a call to the server.
func (rp *responder) dispatch(rec *record) {
	c := rp.conn
	in := incomings.Get().(*incoming)
	in.conn, in.rec = c, rec
	in.args.Reset(rec.data, nil)
	c.mu.Lock()
	admitted := rp.admit()
	rp.unserved++
	rp.replies.making++
	rp.current = in
	c.mu.Unlock()
	if !admitted {
		c.cfg.faults.Fault(c.RemoteAddr(),
			"rpc peer has too many calls under way, connection closed", nil)
		in.Drop()
		c.fail("read", ErrTooManyCalls)
		return
	}
	atomic.AddUint64(&c.counters.stats.Served, 1)
	if d := rp.server.Load(); d != nil {
		d.Dispatch(in)
	} else {
		nobody.Dispatch(in)
	}
}

// admit waits up to CancelGrace while the peer has far too many unanswered calls, in case only
// their answers have not left yet. Conn.mu is held.
func (rp *responder) admit() bool {
	c := rp.conn
	limit := overcommit * c.cfg.MaxInFlight
	if rp.unserved < limit {
		return true
	}
	late := false
	grace := time.AfterFunc(c.cfg.CancelGrace, func() {
		c.mu.Lock()
		late = true
		c.receiver.room.Broadcast()
		c.mu.Unlock()
	})
	defer grace.Stop()
	for rp.unserved >= limit && c.err == nil && !late {
		rp.flush()
		c.receiver.room.Wait()
	}
	return rp.unserved < limit || c.err != nil
}

// flush wakes the sender for the replies that the receiving goroutine has queued; Conn.mu is held.
func (rp *responder) flush() {
	rp.current = nil
	if s := &rp.conn.sender; s.queue.First() != nil {
		s.filled.Signal()
	}
}

func (in *incoming) Message() *xdr.Decoder    { return &in.args }
func (in *incoming) Ready() bool              { return true }
func (in *incoming) Context() context.Context { return in.conn.ctx }
func (in *incoming) Conn() oncrpc.Transport   { return in.conn }

func (in *incoming) Reply(m xdr.Message) {
	c := in.conn
	in.reply = m // which may refer to the arguments
	in.out = outgoing{msg: &in.reply, len: m.Len(), in: in}
	c.mu.Lock()
	c.responder.replies.made(in)
	if c.err != nil || c.sender.err != nil {
		c.mu.Unlock()
		c.responder.answered(in)
		return
	}
	c.sender.queue.push(&in.out)
	if c.responder.current != in {
		c.sender.filled.Signal()
	}
	c.mu.Unlock()
}

func (in *incoming) Drop() {
	c := in.conn
	c.mu.Lock()
	c.responder.replies.made(in)
	c.mu.Unlock()
	c.responder.answered(in)
}

// drop ends the calls of the peer whose replies cannot be sent.
func (rp *responder) drop(lost queue) {
	for o := lost.pop(); o != nil; o = lost.pop() {
		rp.answered(o.in)
	}
}

// answered ends a call of the peer whose reply has been sent or cannot be sent any more.
func (rp *responder) answered(in *incoming) {
	c := rp.conn
	in.reply.Release()
	in.rec.Release()
	large := in.large
	*in = incoming{}
	incomings.Put(in)
	c.mu.Lock()
	rp.unserved--
	rp.replies.left(large, rp.unserved == 0)
	c.receiver.room.Signal()
	c.checkDone()
	c.mu.Unlock()
}
